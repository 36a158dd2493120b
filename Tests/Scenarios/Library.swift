// The one difference between the two programs that are made of this folder.
#if PURL
    @_exported import Purl
#else
    @_exported import FoundationNetworking
#endif
