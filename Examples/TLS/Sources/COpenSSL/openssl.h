// The parts of OpenSSL 3 that are macros, which Swift cannot call.

#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline int purl_set_min_version(SSL *ssl, int version) { return (int)SSL_set_min_proto_version(ssl, version); }

static inline int purl_set_max_version(SSL *ssl, int version) { return (int)SSL_set_max_proto_version(ssl, version); }

static inline int purl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

// A write may take a part of what it is given; the buffers of a connection that is idle are given back.
static inline void purl_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

// Sessions are handed to the callback and kept nowhere else.
static inline void purl_hand_over_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}

static inline int purl_certificate_count(const SSL *ssl) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    return chain == NULL ? 0 : sk_X509_num(chain);
}

static inline X509 *purl_certificate(const SSL *ssl, int index) {
    return sk_X509_value(SSL_get_peer_cert_chain(ssl), index);
}

static inline void purl_set_owner(SSL *ssl, void *owner) { SSL_set_app_data(ssl, owner); }

static inline void *purl_owner(const SSL *ssl) { return SSL_get_app_data(ssl); }
