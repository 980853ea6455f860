// SPDX-License-Identifier: Apache-2.0
// What C writes as PAWL_CREATE(...), in C++11; compiled by headers.py.
#include <pawl/pawl.h>

int write_in_cpp(struct pawl_client *c);

int write_in_cpp(struct pawl_client *c)
{
    pawl::create create;
    pawl::set set;
    pawl::remove remove;
    pawl::set_acl set_acl;
    pawl::client_options client;
    pawl::view_options view;
    pawl::reconfig reconfig;
    pawl::lock_options lock;
    pawl::latch_options latch;
    pawl::selector_options selector;
    pawl::semaphore_options semaphore;
    pawl::cache_options cache;
    pawl::queue_options queue;
    pawl::put put;
    pawl::atomic_options atomic;
    pawl::persistent_options persistent;
    pawl::group_options group;
    pawl::provider_options provider;
    pawl::instance instance;
    struct pawl_lock *l = nullptr;
    int rc;

    create.path = "/a";
    create.data = pawl_str("text");
    rc = pawl_create(c, &create, nullptr);
    set.path = "/a";
    set.only_if = pawl_version(0);
    rc += pawl_set(c, &set, nullptr);
    remove.path = "/a";
    rc += pawl_delete(c, &remove, nullptr);
    lock.permits = 3;
    rc += pawl_lock_new(c, "/lock", &lock, &l);
    return rc + static_cast<int>(set_acl.size + client.size + view.size + reconfig.size +
                                 latch.size + selector.size + semaphore.size + cache.size +
                                 queue.size + put.size + atomic.size + persistent.size +
                                 group.size + provider.size + instance.size);
}
