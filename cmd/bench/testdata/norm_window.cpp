/* What G-RM-7 is compared with: NORM with positive acknowledgements. The sender
 * sends objects of some bytes, a window of them at a time, each window with a
 * watermark that all receivers have to acknowledge before the next begins. It has
 * no congestion control: a rate is given. It prints how long that took, in
 * nanoseconds, until the last watermark. Receivers print how many objects they have
 * received, when they are asked. Both speak like workers (cmd/bench/worker), whose
 * parameters are the arguments.
 *
 *   norm_window send INTERFACE GROUP PORT RECEIVERS COUNT BYTES WINDOW BITS_PER_SECOND
 *   norm_window receive INTERFACE GROUP PORT ID
 */
#include <normApi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const unsigned buffer = 16 << 20;
static const unsigned first_id = 2; /* of receivers; the sender is 1 */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "norm_window: %s\n", what);
	exit(1);
}

/* until_acknowledged waits for a watermark, for a minute at most. */
static void until_acknowledged(NormInstanceHandle instance, NormSessionHandle session)
{
	for (double limit = now() + 60; now() < limit;) {
		struct pollfd p = {NormGetDescriptor(instance), POLLIN, 0};
		NormEvent e;
		if (poll(&p, 1, 1000) <= 0 || !NormGetNextEvent(instance, &e, false))
			continue;
		if (e.type != NORM_TX_WATERMARK_COMPLETED)
			continue;
		if (NormGetAckingStatus(session) == NORM_ACK_SUCCESS)
			return;
		if (!NormResetWatermark(session))
			die("watermark again");
	}
	die("no acknowledgement");
}

static void window(NormInstanceHandle instance, NormSessionHandle session, char *data, unsigned bytes, int count, unsigned *number)
{
	NormObjectHandle last = NORM_OBJECT_INVALID;
	for (int i = 0; i < count; i++) {
		char *b = data + (size_t)(*number % 4096) * bytes;
		memcpy(b, number, sizeof *number);
		last = NormDataEnqueue(session, b, bytes);
		if (last == NORM_OBJECT_INVALID)
			die("enqueue");
		++*number;
	}
	if (!NormSetWatermark(session, last, true))
		die("watermark");
	until_acknowledged(instance, session);
}

static void send_all(NormInstanceHandle instance, NormSessionHandle session, char **argv)
{
	int receivers = atoi(argv[5]), count = atoi(argv[6]), size = atoi(argv[8]);
	unsigned bytes = atoi(argv[7]), number = 0;
	char *data = (char *)calloc(4096, bytes);
	if (!data || size < 1 || size > 2048)
		die("arguments");
	NormSetTxRate(session, atof(argv[9]));
	NormSetCongestionControl(session, false);
	NormSetGrttEstimate(session, 0.001);
	NormSetBackoffFactor(session, 4);
	NormSetGroupSize(session, 10);
	NormSetTxCacheBounds(session, buffer, 2048, 8192);
	for (int i = 0; i < receivers; i++)
		NormAddAckingNode(session, first_id + i);
	if (!NormStartSender(session, 1, buffer, bytes, 64, 0))
		die("start sender");
	NormSetTxSocketBuffer(session, 4 << 20);
	window(instance, session, data, bytes, 1, &number); /* all are there */
	double began = now();
	for (int left = count; left > 0; left -= size)
		window(instance, session, data, bytes, left < size ? left : size, &number);
	printf("{\"value\":%.0f}\n", (now() - began) * 1e9);
	fflush(stdout);
}

/* line reads one, and returns whether there was one. */
static bool line()
{
	char c;
	ssize_t n;
	while ((n = read(0, &c, 1)) == 1 && c != '\n') { }
	return n == 1;
}

static void receive_all(NormInstanceHandle instance, NormSessionHandle session)
{
	unsigned long objects = 0;
	NormSetDefaultSyncPolicy(session, NORM_SYNC_ALL);
	NormSetDefaultUnicastNack(session, false);
	NormSetRxCacheLimit(session, 8192);
	if (!NormStartReceiver(session, buffer))
		die("start receiver");
	NormSetRxSocketBuffer(session, 4 << 20);
	printf("{\"value\":true}\n"); /* ready */
	fflush(stdout);
	for (;;) {
		struct pollfd p[] = {{NormGetDescriptor(instance), POLLIN, 0}, {0, POLLIN, 0}};
		NormEvent e;
		if (poll(p, 2, -1) < 0)
			die("poll");
		if (p[1].revents) {
			if (!line())
				return;
			printf("{\"value\":%lu}\n", objects);
			fflush(stdout);
		}
		if (p[0].revents && NormGetNextEvent(instance, &e, false) && e.type == NORM_RX_OBJECT_COMPLETED)
			objects++;
	}
}

int main(int argc, char **argv)
{
	bool sender = argc == 10 && !strcmp(argv[1], "send");
	if (!sender && !(argc == 6 && !strcmp(argv[1], "receive")))
		die("arguments");
	if (!line()) /* the parameters of a worker, here none */
		return 0;
	NormInstanceHandle instance = NormCreateInstance(false);
	NormSessionHandle session = NormCreateSession(instance, argv[3], atoi(argv[4]), sender ? 1 : atoi(argv[5]));
	if (session == NORM_SESSION_INVALID || !NormSetMulticastInterface(session, argv[2]))
		die("session");
	NormSetTTL(session, 1);
	if (sender)
		send_all(instance, session, argv);
	else
		receive_all(instance, session);
	NormDestroySession(session);
	NormDestroyInstance(instance);
	return 0;
}
