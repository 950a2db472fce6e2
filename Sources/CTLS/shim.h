// libssl, with its macros given names that Swift can call.
#ifndef IMGD_CTLS_SHIM_H
#define IMGD_CTLS_SHIM_H

#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* A key that is encrypted is of no use: nobody is there to be asked for its pass phrase. */
static inline int tls_refuse_pass_phrase(char *buffer, int size, int writes, void *data) {
  (void)buffer, (void)size, (void)writes, (void)data;
  return -1;
}

/* What connections to a server that has to show a certificate are made with; NULL without memory. */
static inline SSL_CTX *tls_make_context(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return NULL;
  SSL_CTX_set_default_passwd_cb(context, tls_refuse_pass_phrase);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  /* libssl would put AES with 256 bits first, which costs more than with 128. */
  SSL_CTX_set_ciphersuites(
      context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  /* Whether an answer is whole, its own form says. */
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  /* Several records with one call of the kernel. */
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 128 * 1024);
  return context;
}

/* Has the server prove this host name or address, which a host name is also sent as; 0 without memory. */
static inline int tls_expect(SSL *tls, const char *name) {
  X509_VERIFY_PARAM *wanted = SSL_get0_param(tls);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name)) return 1;
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(tls, name) && SSL_set_tlsext_host_name(tls, name);
}

/* The reason of the first error since the queue was cleared; 0 for none. */
static inline int tls_reason(void) { return ERR_GET_REASON(ERR_peek_error()); }

/* The same in words; NULL where there are none. */
static inline const char *tls_reason_text(void) {
  unsigned long error = ERR_peek_error();
  return ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
}

#endif
