// libcurl, with its variadic calls given one typed name for each kind of argument, and what OpenSSL knows of its
// connections.
#ifndef IMGD_CCURL_SHIM_H
#define IMGD_CCURL_SHIM_H

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <string.h>

typedef size_t (*curl_receive_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode curl_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_context(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_errors(CURL *easy, char *room) {
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, room);
}

static inline CURLcode curl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(easy, option, list);
}

static inline void curl_easy_on_head(CURL *easy, curl_receive_callback callback) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
}

static inline void curl_easy_on_body(CURL *easy, curl_receive_callback callback) {
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
}

static inline void curl_easy_on_open(CURL *easy, curl_opensocket_callback callback) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline void curl_easy_on_close(CURL *easy, curl_closesocket_callback callback) {
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline void curl_easy_on_request(CURL *easy, curl_prereq_callback callback) {
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline void curl_easy_on_resolve(CURL *easy, curl_resolver_start_callback callback) {
  curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline void curl_easy_on_tls(CURL *easy, curl_ssl_ctx_callback callback) {
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline curl_off_t curl_easy_expected_length(CURL *easy) {
  curl_off_t length = -1;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  return length;
}

static inline void *curl_easy_private(CURL *easy) {
  char *context = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
  return context;
}

/* OpenSSL's connection of a request under way; NULL without TLS. */
static inline const SSL *curl_easy_tls(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info);
  return info && info->backend == CURLSSLBACKEND_OPENSSL ? (const SSL *)info->internals : NULL;
}

/* Whether the connection's handshake took up an earlier session, without signatures and certificates. */
static inline bool curl_easy_is_resumed(CURL *easy) {
  const SSL *tls = curl_easy_tls(easy);
  return tls && SSL_session_reused(tls);
}

/* Whether the connection serves one request at a time, and its session follows the handshake, as TLS 1.3 has it. */
static inline bool curl_easy_awaits_session(CURL *easy) {
  const SSL *tls = curl_easy_tls(easy);
  if (!tls || SSL_session_reused(tls) || SSL_version(tls) < TLS1_3_VERSION) return false;
  const unsigned char *protocol = NULL;
  unsigned int length = 0;
  SSL_get0_alpn_selected(tls, &protocol, &length);
  return length != 2 || memcmp(protocol, "h2", 2) != 0;
}

/* Has libcurl keep a copy of a session that has come. */
static inline int curl_tls_session_came(SSL *tls, SSL_SESSION *session) {
  int (*keep)(SSL *, SSL_SESSION *) = (int (*)(SSL *, SSL_SESSION *))SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls));
  SSL_SESSION *copy = SSL_SESSION_dup(session);
  if (copy && !keep(tls, copy)) SSL_SESSION_free(copy);
  return 0;
}

/* Has a connection resume a copy of the session that libcurl has found for it. */
static inline void curl_tls_begins(const SSL *tls, int step, int result) {
  (void)result;
  SSL_SESSION *session = step == SSL_CB_HANDSHAKE_START && SSL_in_before(tls) ? SSL_get_session(tls) : NULL;
  SSL_SESSION *copy = session ? SSL_SESSION_dup(session) : NULL;
  if (!copy) return;
  SSL_set_session((SSL *)tls, copy);
  SSL_SESSION_free(copy);
}

/* Keeps sessions from being used up; called when libcurl has made OpenSSL's context for a connection. OpenSSL marks the
   session of a connection as of no more use once it is resumed, in TLS 1.3, and when the connection ends without a
   farewell, as libcurl's do that have HTTP/2: so connections have copies. */
static inline void curl_tls_copy_sessions(void *tls) {
  SSL_CTX *context = (SSL_CTX *)tls;
  SSL_CTX_set_app_data(context, (void *)SSL_CTX_sess_get_new_cb(context));
  SSL_CTX_sess_set_new_cb(context, curl_tls_session_came);
  SSL_CTX_set_info_callback(context, curl_tls_begins);
}

/* Room for eight TLS sessions, which handles share; `used` is called whenever one is looked up or added. */
static inline CURLSH *curl_share_sessions(curl_lock_function used) {
  CURLSH *share = curl_share_init();
  if (!share) return NULL;
  if (curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK) {
    curl_share_cleanup(share);
    return NULL;
  }
  curl_share_setopt(share, CURLSHOPT_LOCKFUNC, used);
  return share;
}

static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline void curl_multi_on_socket(CURLM *multi, curl_socket_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline void curl_multi_on_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* The next finished transfer, or NULL; the message itself holds a union that Swift cannot read. */
static inline CURL *curl_multi_next_finished(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)))
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  return NULL;
}

#endif
