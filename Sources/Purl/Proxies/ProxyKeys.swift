/// Whether a proxy is used for HTTP: a number, not zero for yes. See ``URLSessionConfiguration/connectionProxyDictionary``.
public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
/// The host of the proxy for HTTP: a name or an address, or a URL such as `http://user:password@host:port`.
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
/// The port of the proxy for HTTP: a number.
public let kCFNetworkProxiesHTTPPort = "HTTPPort"
/// The hosts that are reached without a proxy: a list of texts.
public let kCFNetworkProxiesExceptionsList = "ExceptionsList"
/// Whether hosts without a dot in their names are reached without a proxy: a number, not zero for yes.
public let kCFNetworkProxiesExcludeSimpleHostnames = "ExcludeSimpleHostnames"
