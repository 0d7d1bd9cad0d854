package linkwatch

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestReceiveLate: a message that has arrived is received although the instant until which
// receive may wait has passed. The kernel can take that long to answer a request, because
// a process that makes or removes interfaces may hold the lock that the answer needs.
func TestReceiveLate(t *testing.T) {
	spec.Covers(t, "NS-8")
	k := listenHere(t)
	if err := k.send(appendDump(nil, typeGetLink, 1)); err != nil {
		t.Fatal(err)
	}
	if b, err := k.receive(time.Now().Add(-time.Second)); err != nil || len(b) == 0 {
		t.Errorf("%d bytes, %v; want the answer that was there", len(b), err)
	}
	for {
		_, err := k.receive(time.Now().Add(-time.Second))
		if errors.Is(err, errLate) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoAllocations: asking about a link and taking the answer, ten times a second on each
// node, allocates nothing.
func TestNoAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	k := listenHere(t)
	var requests []byte
	table := newTracker()
	polls := func() {
		requests = appendLink(requests[:0], 1, 1) // the request for interface 1, which is lo
		if err := k.send(requests); err != nil {
			t.Fatal(err)
		}
		b, err := k.receive(time.Now().Add(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		table.receive(b)
		if _, err := k.receive(time.Now().Add(time.Millisecond)); err != nil && !errors.Is(err, errLate) {
			t.Fatal(err)
		}
	}
	polls()
	if n := testing.AllocsPerRun(50, polls); n > 0 {
		t.Errorf("%v objects per question", n)
	}
}

func listenHere(t *testing.T) source {
	t.Helper()
	k, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
	})
	return k
}
