/* SPDX-License-Identifier: Apache-2.0 */
/* mhd.h - libmicrohttpd, loaded when HTTP is wanted.
 *
 * It brings a TLS library and that one's libraries along: 2.6 MB of memory, which a server without
 * an admin port need not have. Its functions are used by their own names. */
#ifndef PAWL_HTTP_MHD_H
#define PAWL_HTTP_MHD_H

#include <microhttpd.h>
#include <stdbool.h>

#define MHD_FUNCTIONS(X)                                  \
    X(start_daemon)                                       \
    X(stop_daemon)                                        \
    X(run)                                                \
    X(get_timeout)                                        \
    X(get_daemon_info)                                    \
    X(get_connection_info)                                \
    X(lookup_connection_value)                            \
    X(lookup_connection_value_n)                          \
    X(suspend_connection)                                 \
    X(resume_connection)                                  \
    X(queue_response)                                     \
    X(create_response_from_buffer_with_free_callback_cls) \
    X(create_response_from_callback)                      \
    X(add_response_header)                                \
    X(destroy_response)

struct mhd {
#define MHD_FIELD(name) __typeof__(&MHD_##name) name;
    MHD_FUNCTIONS(MHD_FIELD)
#undef MHD_FIELD
};

/* Before any other of them. False: `why` says which file or function is missing. Once is enough. */
bool mhd_load(const char **why);
extern struct mhd mhd;

#ifndef MHD_AS_IT_IS
#define MHD_start_daemon              mhd.start_daemon
#define MHD_stop_daemon               mhd.stop_daemon
#define MHD_run                       mhd.run
#define MHD_get_timeout               mhd.get_timeout
#define MHD_get_daemon_info           mhd.get_daemon_info
#define MHD_get_connection_info       mhd.get_connection_info
#define MHD_lookup_connection_value   mhd.lookup_connection_value
#define MHD_lookup_connection_value_n mhd.lookup_connection_value_n
#define MHD_suspend_connection        mhd.suspend_connection
#define MHD_resume_connection         mhd.resume_connection
#define MHD_queue_response            mhd.queue_response
#define MHD_create_response_from_buffer_with_free_callback_cls \
    mhd.create_response_from_buffer_with_free_callback_cls
#define MHD_create_response_from_callback mhd.create_response_from_callback
#define MHD_add_response_header           mhd.add_response_header
#define MHD_destroy_response              mhd.destroy_response
#endif

#endif
