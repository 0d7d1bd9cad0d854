// An RDMA device in memory: the functions of libibverbs and librdmacm that package ibv
// calls, for tests, loaded before the real ones (LD_PRELOAD). All addresses 127.x.x.x
// are at one device. It is strict where hardware is not: using what is freed, freeing
// what is used, losing a completion and overflowing a queue are reported. Nothing is
// ever freed, so that it can tell.
#ifndef FAKE_H
#define FAKE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <pthread.h>
#include <stdint.h>

enum kind { CHANNEL, ID, PD, MR, SRQ, COMP, CQ, QP, AH, KINDS };

// state is shared with the test: a file that both map. The test writes what stands
// first.
struct state {
	int64_t fail_at;   // the number of the call that fails, 0: none
	int64_t hold;      // work requests are not begun
	int64_t no_flush;  // nor flushed
	int64_t refuse_at; // the number of the posted work request that is refused, 0: none
	int64_t no_dereg;  // memory is not given back
	int64_t calls;     // that may fail
	int64_t posts;     // of work requests
	int64_t live[KINDS];
	int64_t mistakes;
	char mistake[256]; // the first one
};

extern struct state *state;

void lock(void);
void unlock(void);
int fails(void); // counts a call, and sets errno if it is to fail
void mistake(const char *format, ...) __attribute__((format(printf, 1, 2)));

// object begins with what a fake has in common, behind the library's own struct.
struct object {
	enum kind kind;
	int alive, users;
};

void born(struct object *o, enum kind kind);
int dies(struct object *o, enum kind kind); // 0, or EBUSY
void using(struct object *o, enum kind kind);

// bell is a descriptor that is readable when something is there.
struct bell { int read, write; };

int bell_make(struct bell *b);
void bell_ring(struct bell *b);
int bell_take(struct bell *b); // 0: nothing
void bell_end(struct bell *b);

struct comp { struct ibv_comp_channel c; struct object o; struct bell bell; struct cq *first[64]; int count; };
struct pd { struct ibv_pd c; struct object o; };
struct mr { struct ibv_mr c; struct object o; struct pd *pd; uint64_t iova; int access; struct mr *next; };
struct ah { struct ibv_ah c; struct object o; struct pd *pd; uint8_t ip[4]; };

struct receive { uint64_t id; struct ibv_sge sge; };
struct srq { struct ibv_srq c; struct object o; struct pd *pd; struct receive *list; int size, head, count; };

struct cq { struct ibv_cq c; struct object o; struct comp *comp; struct ibv_wc *list; int head, count, armed, unacked; };

struct work {
	uint64_t id, remote;
	uint32_t rkey, qpn, qkey;
	int write, pieces;
	struct ah *ah;
	struct ibv_sge sge[32];
};

#define FRESH IBV_QPS_INIT
#define READY IBV_QPS_RTS
#define BROKEN IBV_QPS_ERR

struct qp {
	struct ibv_qp c;
	struct object o;
	struct pd *pd;
	struct cq *sends, *receives;
	struct srq *srq;
	struct qp *peer, *next;
	struct id *id;
	struct work *list;
	int size, head, count, datagrams, groups;
	uint32_t qkey;
	uint8_t group[8][4];
};

extern struct qp *all_qps;

void qp_state(struct qp *q, enum ibv_qp_state to);
void qp_pump(struct qp *q);
void pump_all(void);
void forget(struct cq *c, struct qp *q); // removes completions, as drivers do

struct event { struct rdma_cm_event e; struct id *id; uint8_t data[256]; struct event *next; };
struct channel { struct rdma_event_channel c; struct object o; struct bell bell; struct event *events; };
struct id {
	struct rdma_cm_id c;
	struct object o;
	struct channel *channel;
	struct id *peer, *listener, *next;
	int listening, connected, asking, unacked;
};

extern struct ibv_context device;

#endif
