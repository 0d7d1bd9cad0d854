//go:build ibverbs && cgo && linux

#include "glue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

// failed returns what a function of librdmacm has put into errno.
static int failed(void)
{
	return errno ? -errno : -EIO;
}

static int result(int rc)
{
	return rc ? failed() : 0;
}

static struct sockaddr *to_sockaddr(struct ulnet_addr a, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (a.size == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)to;

		in->sin_family = AF_INET;
		in->sin_port = htons(a.port);
		memcpy(&in->sin_addr, a.ip, 4);
	} else {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)to;

		in->sin6_family = AF_INET6;
		in->sin6_port = htons(a.port);
		memcpy(&in->sin6_addr, a.ip, 16);
	}
	return (struct sockaddr *)to;
}

static void from_sockaddr(const struct sockaddr *from, struct ulnet_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;

		a->size = 4;
		a->port = ntohs(in->sin_port);
		memcpy(a->ip, &in->sin_addr, 4);
	} else if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;

		a->size = 16;
		a->port = ntohs(in->sin6_port);
		memcpy(a->ip, &in->sin6_addr, 16);
	}
}

int ulnet_channel(struct rdma_event_channel **channel)
{
	errno = 0;
	*channel = rdma_create_event_channel();
	return *channel ? 0 : failed();
}

int ulnet_create_id(struct rdma_event_channel *channel, uint32_t token, int datagrams, struct rdma_cm_id **id)
{
	enum rdma_port_space ps = datagrams ? RDMA_PS_UDP : RDMA_PS_TCP;

	errno = 0;
	return result(rdma_create_id(channel, id, (void *)(uintptr_t)token, ps));
}

// A request is born with its listener's token.
void ulnet_set_token(struct rdma_cm_id *id, uint32_t token)
{
	id->context = (void *)(uintptr_t)token;
}

int ulnet_bind(struct rdma_cm_id *id, struct ulnet_addr addr, int reuse)
{
	struct sockaddr_storage s;

	errno = 0;
	if (reuse && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof(reuse)))
		return failed();
	if (rdma_bind_addr(id, to_sockaddr(addr, &s)))
		return failed();
	return id->verbs ? 0 : -ENODEV;
}

int ulnet_set_tos(struct rdma_cm_id *id, uint8_t tos)
{
	errno = 0;
	return result(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

int ulnet_resolve_addr(struct rdma_cm_id *id, struct ulnet_addr to, int timeout_ms)
{
	struct sockaddr_storage s;

	errno = 0;
	return result(rdma_resolve_addr(id, NULL, to_sockaddr(to, &s), timeout_ms));
}

int ulnet_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	errno = 0;
	return result(rdma_resolve_route(id, timeout_ms));
}

int ulnet_listen(struct rdma_cm_id *id, int backlog)
{
	errno = 0;
	return result(rdma_listen(id, backlog));
}

int ulnet_connect(struct rdma_cm_id *id, const void *data, uint8_t size, uint8_t retry, uint8_t rnr_retry)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = size,
		.retry_count = retry,
		.rnr_retry_count = rnr_retry,
	};

	errno = 0;
	return result(rdma_connect(id, &param));
}

int ulnet_accept(struct rdma_cm_id *id, const void *data, uint8_t size, uint8_t rnr_retry)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = size,
		.rnr_retry_count = rnr_retry,
	};

	errno = 0;
	return result(rdma_accept(id, &param));
}

int ulnet_reject(struct rdma_cm_id *id, const void *data, uint8_t size)
{
	errno = 0;
	return result(rdma_reject(id, data, size));
}

int ulnet_disconnect(struct rdma_cm_id *id)
{
	errno = 0;
	return result(rdma_disconnect(id));
}

int ulnet_next_event(struct rdma_event_channel *channel, struct ulnet_event *to)
{
	struct rdma_cm_event *e;

	errno = 0;
	if (rdma_get_cm_event(channel, &e))
		return failed();
	memset(to, 0, sizeof(*to));
	to->kind = e->event;
	to->status = e->status;
	to->token = (uint32_t)(uintptr_t)e->id->context;
	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		to->id = e->id;
		from_sockaddr(rdma_get_peer_addr(e->id), &to->peer);
	}
	if (e->param.conn.private_data && e->id->ps == RDMA_PS_TCP) {
		to->private_size = e->param.conn.private_data_len;
		memcpy(to->private_data, e->param.conn.private_data, to->private_size);
	}
	// From here on e->id may be destroyed by others: who destroys it waits for this.
	rdma_ack_cm_event(e);
	return 0;
}

// wait_join waits for what became of a join.
static int wait_join(struct rdma_event_channel *channel, int timeout_ms)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *e;
	int kind, status, rc;

	do {
		rc = poll(&p, 1, timeout_ms);
	} while (rc < 0 && errno == EINTR);
	if (rc <= 0)
		return rc ? failed() : -ETIMEDOUT;
	if (rdma_get_cm_event(channel, &e))
		return failed();
	kind = e->event;
	status = e->status;
	rdma_ack_cm_event(e);
	if (kind == RDMA_CM_EVENT_MULTICAST_JOIN && status == 0)
		return 0;
	if (kind == RDMA_CM_EVENT_MULTICAST_ERROR || kind == RDMA_CM_EVENT_MULTICAST_JOIN)
		return status < -1 ? status : -EIO; // -1: the library could not attach
	return 1;
}

int ulnet_join(struct rdma_cm_id *id, struct ulnet_addr group, int timeout_ms)
{
	struct sockaddr_storage s;
	int rc, tries;

	errno = 0;
	if (rdma_join_multicast(id, to_sockaddr(group, &s), NULL))
		return failed();
	// Others are told of the address of the interface; a few may be before it.
	for (tries = 0, rc = 1; rc == 1 && tries < 16; tries++)
		rc = wait_join(id->channel, timeout_ms);
	if (rc == 0)
		return 0;
	rdma_leave_multicast(id, (struct sockaddr *)&s);
	return rc < 0 ? rc : -EIO;
}

int ulnet_leave(struct rdma_cm_id *id, struct ulnet_addr group)
{
	struct sockaddr_storage s;

	errno = 0;
	return result(rdma_leave_multicast(id, to_sockaddr(group, &s)));
}
