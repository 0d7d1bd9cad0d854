#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct state *state;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *const names[KINDS] = {"event channel", "cm id", "pd", "mr", "srq", "comp channel", "cq", "qp", "ah"};

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("ULNET_IBV_FAKE");
	int fd = path ? open(path, O_RDWR) : -1;

	state = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (state == MAP_FAILED) {
		fprintf(stderr, "ULNET_IBV_FAKE names no file\n");
		abort();
	}
	close(fd);
}

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

int fails(void)
{
	state->calls++;
	if (state->calls != state->fail_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void mistake(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (state->mistakes++ == 0)
		vsnprintf(state->mistake, sizeof(state->mistake), format, args);
	va_end(args);
}

void born(struct object *o, enum kind kind)
{
	o->kind = kind;
	o->alive = 1;
	state->live[kind]++;
}

void using(struct object *o, enum kind kind)
{
	if (!o->alive || o->kind != kind) {
		fprintf(stderr, "fake: a %s is used that is freed\n", names[kind]);
		abort();
	}
}

int dies(struct object *o, enum kind kind)
{
	using(o, kind);
	if (o->users) {
		mistake("a %s is freed that has %d users", names[kind], o->users);
		return EBUSY;
	}
	o->alive = 0;
	state->live[kind]--;
	return 0;
}

int bell_make(struct bell *b)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return -1;
	b->read = fd[0];
	b->write = fd[1];
	return 0;
}

void bell_ring(struct bell *b)
{
	if (write(b->write, "", 1) != 1)
		mistake("a bell cannot ring");
}

int bell_take(struct bell *b)
{
	char c;

	return read(b->read, &c, 1) == 1;
}

void bell_end(struct bell *b)
{
	close(b->read);
	close(b->write);
}
