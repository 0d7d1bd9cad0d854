package socklnd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

var errTest = errors.New("test")

func newSet(self, peer string) *connSet {
	return &connSet{cfg: setConfig{
		self: nid.MustParse(self), peer: nid.ProcessID{NID: nid.MustParse(peer), PID: nid.LustrePID},
		versions: versions{ksock.V1, ksock.V3, ksock.V4}, connsPerPeer: 1,
		minReconnect: time.Second, maxReconnect: time.Minute,
	}}
}

// word makes the input with the given name.
func word(name string) setInput {
	in := setInput{version: ksock.V3, incarnation: 1, err: errTest}
	verb, arg, _ := strings.Cut(name, " ")
	in.kind = map[string]setInputKind{
		"timer": setTimer, "send": setSend, "use": setSend, "hello": setHello, "accepted": setAccepted,
		"accept-failed": setAcceptFailed, "dialled": setDialled, "refused": setRefused,
		"version": setOtherVersion, "failed": setDialFailed, "closed": setClosed,
	}[verb]
	in.usable = verb == "use"
	for _, a := range strings.Fields(arg) {
		switch a {
		case "control":
			in.ctype = ksock.Control
		case "in":
			in.ctype = ksock.BulkIn
		case "out":
			in.ctype = ksock.BulkOut
		case "v1", "v2", "v5":
			in.version = ksock.Version(a[1] - '0')
		case "restarted":
			in.incarnation = 2
		case "outlived":
			in.generation--
		case "same-host":
			in.sameHost = true
		}
	}
	return in
}

// effects returns the text of an output and its wake.
func effects(out *setOutput, now, wake time.Duration) string {
	var s []string
	if v := out.outcome; v != outcomeNone {
		s = append(s, [...]string{"", "queue", "unreachable", "accept", "race", "duplicate", "restarted", "version", "outlived"}[v])
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{out.closeAll, "close-all"}, {out.failPending, "fail-pending"}, {out.down, "down"}, {out.up, "up"}} {
		if f.set {
			s = append(s, f.name)
		}
	}
	if out.dial {
		s = append(s, fmt.Sprintf("dial %v %v", out.dialVersion, out.dialType))
	}
	if wake != machine.Never {
		s = append(s, fmt.Sprintf("wake +%v", wake-now))
	}
	return strings.Join(s, ", ")
}

// setScript is a sequence of inputs of one set, with the expected effects: "input = effects"
// per line; "+1s" lets time pass. Our own NID is 10.0.0.2@tcp.
type setScript struct{ name, peer, script string }

// play steps s through the script and compares what it does.
func (script setScript) play(t *testing.T, s *connSet) {
	t.Helper()
	var now time.Duration
	var got, want []string
	for line := range strings.Lines(script.script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if d, ok := strings.CutPrefix(line, "+"); ok {
			step, err := time.ParseDuration(d)
			if err != nil {
				t.Fatal(err)
			}
			now += step
			continue
		}
		name, effect, _ := strings.Cut(line, " =")
		var out setOutput
		in := word(name)
		in.generation += s.generation
		wake := s.Step(now, in, &out)
		got = append(got, name+" = "+effects(&out, now, wake))
		want = append(want, name+" = "+strings.TrimSpace(effect))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConnSet(t *testing.T) {
	for _, tt := range setScripts {
		t.Run(tt.name, func(t *testing.T) { tt.play(t, newSet("10.0.0.2@tcp", tt.peer)) })
	}
}

// TestConnSetDialOnly: a node without a listener keeps its connections open.
func TestConnSetDialOnly(t *testing.T) {
	for _, tt := range []setScript{
		{"opens again after a pause", "10.0.0.1@tcp", `
			send = queue, dial v3 CONTROL
			dialled control = accept, up, dial v3 BULK_IN
			dialled in = accept, dial v3 BULK_OUT
			dialled out = accept
			closed = close-all, down, wake +1s
			+1s
			timer = dial v3 CONTROL
			dialled control = accept, up, dial v3 BULK_IN`},
		{"a message does not wait for that", "10.0.0.1@tcp", `
			send = queue, dial v3 CONTROL
			dialled control = accept, up, dial v3 BULK_IN
			failed = wake +1s
			closed = close-all, down, wake +1s
			+1s
			send = queue, dial v3 CONTROL`},
		{"backs off", "10.0.0.1@tcp", `
			send = queue, dial v3 CONTROL
			dialled control = accept, up, dial v3 BULK_IN
			closed = close-all, down
			failed = down, wake +1s
			send = unreachable, wake +1s
			+1s
			timer = dial v3 CONTROL
			failed = down, wake +2s
			+2s
			timer = dial v3 CONTROL
			send = queue
			failed = fail-pending, down, wake +4s`},
		{"completes what is there", "10.0.0.1@tcp", `
			send = queue, dial v3 CONTROL
			dialled control = accept, up, dial v3 BULK_IN
			failed = wake +1s
			+1s
			timer = dial v3 BULK_IN`},
		{"not without ever having had a connection", "10.0.0.1@tcp", `
			send = queue, dial v3 CONTROL
			failed = fail-pending, down`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSet("10.0.0.2@tcp", tt.peer)
			s.cfg.dialOnly = true
			tt.play(t, s)
		})
	}
}

// TestConnSetGivesUp: a dial-only node stops dialling a peer that does not come back.
func TestConnSetGivesUp(t *testing.T) {
	s := newSet("10.0.0.2@tcp", "10.0.0.1@tcp")
	s.cfg.dialOnly = true
	var out setOutput
	for _, name := range []string{"send", "dialled control", "closed", "failed"} {
		s.Step(0, word(name), &out)
	}
	var now time.Duration
	for tries := 1; ; tries++ {
		out.reset()
		now = s.nextRedial()
		if s.Step(now, word("timer"), &out); !out.dial {
			if tries != maxRedials {
				t.Errorf("gave up after %d tries, want %d", tries, maxRedials)
			}
			break
		}
		s.Step(now, word("failed"), &out)
	}
	if !s.idle(2 * now) {
		t.Errorf("never forgotten: %+v", s)
	}
}

var setScripts = []setScript{
	{"all types in order", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		send = queue
		dialled control = accept, up, dial v3 BULK_IN
		use = queue
		dialled in = accept, dial v3 BULK_OUT
		dialled out = accept
		closed = close-all, down
		send = queue, dial v3 CONTROL`},
	{"back-off doubles and is forgiven", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		failed = fail-pending, down
		send = unreachable
		+1s
		send = queue, dial v3 CONTROL
		failed = fail-pending, down
		+1s
		send = unreachable
		+1s
		send = queue, dial v3 CONTROL
		dialled control = accept, up, dial v3 BULK_IN
		failed = 
		use = unreachable
		+1s
		use = queue, dial v3 BULK_IN`},
	{"accepted ends back-off", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		failed = fail-pending, down
		hello control = accept
		send = queue
		accepted control = up, dial v3 BULK_IN`},
	{"closed while the peer gets its answers", "10.0.0.1@tcp", `
		hello control = accept
		accepted control = up
		hello in = accept
		hello out = accept
		closed = close-all, down
		accepted in outlived = outlived
		hello control = accept
		accepted out outlived = outlived
		accepted control = up
		hello in = accept
		accepted in = `},
	{"lost race: the peer's connection ends the wait", "10.0.0.3@tcp", `
		send = queue, dial v3 CONTROL
		refused = wake +1s
		send = queue, wake +1s
		+84ms
		hello control = accept
		accepted control = up, dial v3 BULK_IN
		refused = wake +1s
		hello in = accept
		accepted in = dial v3 BULK_OUT
		hello out = accept
		refused = 
		accepted out = `},
	{"won race: refused as long as we dial", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		hello control = race
		hello control = race
		dialled control = accept, up, dial v3 BULK_IN
		hello in = race
		dialled in = accept, dial v3 BULK_OUT
		dialled out = accept
		hello control = duplicate`},
	{"refused three times with nothing", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		refused = wake +1s
		+1s
		timer = dial v3 CONTROL
		refused = wake +1s
		+1s
		timer = dial v3 CONTROL
		refused = fail-pending, down
		send = unreachable`},
	{"version is adopted and forgotten", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		version v2 = dial v2 CONTROL
		dialled control v2 = accept, up, dial v2 BULK_IN
		failed = 
		closed = close-all, down
		+1s
		send = queue, dial v3 CONTROL`},
	{"version that the peer has opened in meanwhile", "10.0.0.3@tcp", `
		send = queue, dial v3 CONTROL
		hello v2 control = accept
		accepted v2 control = up
		version v2 = dial v2 BULK_IN`},
	{"version that we do not speak", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		version v5 = fail-pending, down`},
	{"passive only never dials", "10.0.0.1@tcp", `
		hello control = accept
		accepted control = up
		hello in = accept
		accepted in = 
		hello control = duplicate
		closed = close-all, down`},
	{"restart seen by the passive side", "10.0.0.1@tcp", `
		hello control = accept
		accepted control = up
		hello control restarted = restarted, close-all, down
		hello control restarted = accept
		accepted control restarted = up`},
	{"restart seen by the active side", "10.0.0.1@tcp", `
		send = queue, dial v3 CONTROL
		dialled control = accept, up, dial v3 BULK_IN
		dialled in restarted = restarted, close-all, down, wake +1s
		send = queue, wake +1s
		+1s
		timer = dial v3 CONTROL
		dialled control restarted = accept, up, dial v3 BULK_IN`},
	{"other version of a known peer", "10.0.0.1@tcp", `
		hello control = accept
		accepted control = up
		hello in v2 = version, close-all, down`},
	{"same host may open many", "10.0.0.1@tcp", `
		hello control same-host = accept
		accepted control = up
		hello control same-host = accept
		accepted control = `},
	{"answer that could not be written", "10.0.0.3@tcp", `
		hello control = accept
		send = queue
		accept-failed control = dial v3 CONTROL`},
	{"only BULK_IN is there", "10.0.0.3@tcp", `
		hello in = accept
		accepted in = up
		send = queue, dial v3 CONTROL
		failed = fail-pending
		send = unreachable`},
}
