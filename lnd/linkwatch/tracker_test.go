package linkwatch

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// recorded is what the kernel sent in a network namespace with the interfaces lo, eth0
// (10.7.0.1) and eth1 (fd00::1). Each line says what was done, and has the bytes of one read
// after that. Little-endian.
//
//go:embed testdata/recorded.txt
var recorded string

type read struct {
	what  string
	bytes []byte
}

func reads(t testing.TB) (list []read) {
	lines := bufio.NewScanner(strings.NewReader(recorded))
	for lines.Scan() {
		what, text, _ := strings.Cut(lines.Text(), " ")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, read{what, b})
	}
	return list
}

var (
	addr4    = netip.MustParseAddr("10.7.0.1")
	addr6    = netip.MustParseAddr("fd00::1")
	loopback = netip.MustParseAddr("127.0.0.7")
)

// TestRecorded: the states that follow from the recorded messages of a kernel.
func TestRecorded(t *testing.T) {
	spec.Covers(t, "NS-8", "NS-10")
	want := map[string]error{
		"links": nil, "addresses": nil, "no-carrier": ErrNoCarrier, "carrier": nil, "down": ErrDown, "up": nil,
		"address": ErrNoAddress, "bridge": ErrNoAddress, "gone": ErrGone,
	}
	tr := newTracker()
	list := reads(t)
	for i, r := range list {
		tr.receive(r.bytes)
		got := tr.state(addr4)
		if i+1 < len(list) && list[i+1].what == r.what {
			continue // this is not the last message of the dump
		}
		if !errors.Is(got, want[r.what]) || (got == nil) != (want[r.what] == nil) {
			t.Errorf("%s: state %v, want %v", r.what, got, want[r.what])
		}
		for _, other := range []netip.Addr{addr6, loopback} {
			if err := tr.state(other); err != nil {
				t.Errorf("%s: %v: %v, want up", r.what, other, err)
			}
		}
	}
	if got := tr.state(addr4); got.Error() != "interface eth0 is gone" {
		t.Errorf("text %q", got)
	}
}

// answer passes a line of the recording to a tracker, as the answer to the tracker's dump
// request.
func answer(t testing.TB, tr *tracker, what string) {
	for _, r := range reads(t) {
		if r.what == what {
			for off := 0; off < len(r.bytes); {
				size := int(r.bytes[off]) | int(r.bytes[off+1])<<8
				b := bytes.Clone(r.bytes[off : off+size])
				b[8], b[9], b[10], b[11] = byte(tr.dumpSeq), byte(tr.dumpSeq>>8), 0, 0
				tr.receive(b)
				off += (size + 3) &^ 3
			}
		}
	}
}

// round lets a tracker request all links and addresses, and answers the requests.
func round(t testing.TB, tr *tracker, now time.Duration) {
	t.Helper()
	for _, c := range []struct {
		kind uint16
		what string
	}{{typeGetLink, "links"}, {typeGetAddr, "addresses"}} {
		if tr.requests(now, nil); tr.dumping != c.kind {
			t.Fatalf("dump of %d, want %d", tr.dumping, c.kind)
		}
		answer(t, tr, c.what)
	}
}

// TestLost: when the kernel reports that it had no room, the tracker asks for everything
// again, and links that are not in the answer are gone.
func TestLost(t *testing.T) {
	spec.Covers(t, "NS-9")
	tr := newTracker()
	round(t, tr, 0)
	if !tr.ready() || tr.state(addr4) != nil {
		t.Fatalf("after the first round: ready %v, state %v", tr.ready(), tr.state(addr4))
	}
	lostAddr := netip.MustParseAddr("10.9.9.9")
	tr.take(message{kind: typeNewLink, index: 77, name: []byte("eth7"), flags: flagUp | flagLowerUp})
	tr.take(message{kind: typeNewAddr, index: 77, addr: lostAddr})
	if err := tr.state(lostAddr); err != nil {
		t.Fatal(err)
	}
	tr.lose() // the tracker misses the message that the interface has gone
	round(t, tr, time.Second)
	if err := tr.state(lostAddr); !errors.Is(err, ErrGone) {
		t.Errorf("state %v, want %v", err, ErrGone)
	}
	if tr.stats.Lost != 1 || tr.stats.Rounds != 2 || tr.again {
		t.Errorf("counters %+v, again %v", tr.stats, tr.again)
	}
}

// TestRounds checks after which outcomes of a dump of links the tracker requests the dump again, and that
// an incomplete dump removes no links.
func TestRounds(t *testing.T) {
	spec.Covers(t, "NS-9")
	for name, c := range map[string]struct {
		end   func(tr *tracker)
		again bool
	}{
		"interrupted": {func(tr *tracker) { tr.endDump(message{kind: typeDone, interrupted: true}) }, true},
		"refused":     {func(tr *tracker) { tr.endDump(message{kind: typeError}) }, true},
		"lost":        {func(tr *tracker) { tr.lose(); tr.endDump(message{kind: typeDone}) }, true},
		"no answer":   {func(tr *tracker) { tr.requests(dumpTimeout, nil) }, true},
		"malformed":   {func(tr *tracker) { tr.receive([]byte{1, 2, 3}); tr.endDump(message{kind: typeDone}) }, true},
		"complete":    {func(tr *tracker) { tr.endDump(message{kind: typeDone}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTracker()
			round(t, tr, 0)
			tr.again = true
			tr.requests(dumpPause, nil)
			before := tr.stats.Rounds
			c.end(tr)
			links := len(tr.links)
			tr.requests(2*dumpTimeout, nil)
			if got := tr.stats.Rounds > before; got != c.again {
				t.Errorf("asked again: %v, want %v", got, c.again)
			}
			if c.again && links != 3 {
				t.Errorf("%d links, want those of the round before", links)
			}
		})
	}
}

// TestPoll: the tracker asks only about the links of watched addresses, ten times a second;
// an answer without news changes nothing.
func TestPoll(t *testing.T) {
	tr := newTracker()
	round(t, tr, 0)
	polls := 0
	wake := time.Duration(0)
	for wake < 10*time.Second {
		var b []byte
		b, wake = tr.requests(wake, nil)
		polls += len(b)
	}
	if polls != 0 {
		t.Errorf("%d bytes of requests without an address", polls)
	}
	_ = tr.state(addr4)
	for wake < 20*time.Second {
		var b []byte
		b, wake = tr.requests(wake, nil)
		polls += len(b) / (headerSize + linkSize)
		tr.heard(message{kind: typeNewLink, seq: tr.seq})
	}
	if polls < 90 || polls > 100 {
		t.Errorf("%d questions in 10 s, want 90 to 100", polls)
	}
	for _, r := range reads(t)[:1] {
		if tr.receive(r.bytes) {
			t.Error("a known state is news")
		}
	}
	tr.forget(func(netip.Addr) bool { return false })
	if len(tr.homes) != 0 {
		t.Error("an address is not forgotten")
	}
}

// TestPollWaits: the kernel may answer late while other processes make or remove interfaces.
// Until it answers it is not asked again, because the requests would queue up before its
// messages about changes.
func TestPollWaits(t *testing.T) {
	spec.Covers(t, "NS-8")
	tr := newTracker()
	round(t, tr, 0)
	_ = tr.state(addr4)
	ask := func(now time.Duration) bool {
		b, _ := tr.requests(now, nil)
		return len(b) > 0
	}
	if !ask(time.Second) {
		t.Fatal("the kernel is not asked at all")
	}
	if ask(time.Second + 2*pollInterval) {
		t.Error("asked again before the answer")
	}
	tr.receive(reads(t)[0].bytes) // a notification, not the answer to the poll
	if ask(time.Second + 3*pollInterval) {
		t.Error("asked again before the answer, after other news")
	}
	tr.heard(message{kind: typeError, seq: tr.seq}) // the kernel answers that there is no such link
	if !ask(time.Second + 4*pollInterval) {
		t.Error("not asked after the answer")
	}
	if !ask(time.Second + 4*pollInterval + dumpTimeout) {
		t.Error("not asked again though an answer never came")
	}
	tr.lose()
	if !ask(time.Second + 5*pollInterval + dumpTimeout) {
		t.Error("not asked after a loss, which may have been that of the answer")
	}
}

// TestBridgePort: a link that leaves a bridge is not gone, although the kernel sends the same
// type of message as for a link that is gone.
func TestBridgePort(t *testing.T) {
	spec.Covers(t, "NS-8")
	tr := newTracker()
	round(t, tr, 0)
	for _, r := range reads(t) {
		if r.what != "bridge" {
			continue
		}
		left := bytes.Clone(r.bytes)
		left[4] = typeDelLink
		if left[headerSize] == 0 { // the message is about the link itself (AF_UNSPEC), not about a bridge port
			continue
		}
		if tr.receive(left) || tr.state(addr4) != nil {
			t.Errorf("the bridge's word is taken: %v", tr.state(addr4))
		}
	}
}

// TestNoCarrierFlag: if no link, not even lo, has the flag that reports a carrier, a link that
// can be used is up.
func TestNoCarrierFlag(t *testing.T) {
	spec.Covers(t, "NS-8")
	tr := newTracker()
	tr.take(message{kind: typeNewLink, index: 2, name: []byte("eth0"), flags: flagUp | flagRunning})
	tr.take(message{kind: typeNewAddr, index: 2, addr: addr4})
	if err := tr.state(addr4); err != nil {
		t.Errorf("state %v, want up", err)
	}
	tr.take(message{kind: typeNewLink, index: 2, flags: flagUp})
	if err := tr.state(addr4); !errors.Is(err, ErrNoCarrier) {
		t.Errorf("state %v, want %v", err, ErrNoCarrier)
	}
	tr.take(message{kind: typeNewLink, index: 1, name: []byte("lo"), flags: flagUp | flagRunning | flagLowerUp})
	tr.take(message{kind: typeNewLink, index: 2, flags: flagUp | flagRunning})
	if err := tr.state(addr4); !errors.Is(err, ErrNoCarrier) {
		t.Errorf("with a kernel that tells of carriers: state %v, want %v", err, ErrNoCarrier)
	}
}

// TestMTU: a change of an MTU is reported like a change of the link. A message without an MTU changes nothing.
func TestMTU(t *testing.T) {
	spec.Covers(t, "RM-A22")
	tr := newTracker()
	links := bytes.Clone(reads(t)[0].bytes)
	tr.receive(links)
	attribute := []byte{8, 0, attrMTU, 0}
	at := bytes.Index(links, attribute)
	if at < 0 {
		t.Fatal("no MTU in the recorded message")
	}
	links[at+len(attribute)]++
	if !tr.receive(links) {
		t.Error("no news of another MTU")
	}
	links[at+2] = 200 // an attribute that the watcher does not know
	if tr.receive(links) {
		t.Error("news by the same message again")
	}
}
