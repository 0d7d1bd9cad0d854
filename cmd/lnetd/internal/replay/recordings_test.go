//go:build linux

package replay_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/recording"
)

// role says how lnetd takes the place of a recorded node. Most fields are what the recorded node
// had or did besides the default configuration. The fields except, anyOrder and anyPort allow
// deviations from the kernel, each with its reason. Package replay itself allows the differences
// that any two nodes have.
type role struct {
	networks string            // networks of the node; empty: tcp
	settings []string          // settings of the node's configuration file
	reasons  map[string]uint64 // counters of refused and ended connections; nil if all connections stay open
	timeout  time.Duration     // timeout of pings that are not answered
	fails    int               // number of operations of the node's users that must fail
	deaf     bool              // the node has no match entries for messages
	shutdown bool              // the node is shut down during the recording
	selftest bool              // the node is a test node of lnet_selftest
	steps    []recording.Step  // commands of the node's console of lnet_selftest
	samples  int               // number of pairs of STAT replies between which the growth of lnetd's counters must be compared with the recorded growth

	deviations
}

type deviations struct {
	except   string // why lnetd cannot play this part; "": it can
	anyOrder string // why lnetd may open connections in another order; "": it may not
	anyPort  string // why lnetd may connect from other ports; "": it may not
}

// recorded is a capture of kernel nodes. It is played twice: lnetd takes the place of each of
// the two nodes.
type recorded struct {
	name              string
	dialler, listener role // the node that opened the first connection, and the other one
	long              bool // played in long runs only, because it is like another recording
	// endsAfter is the index of an event of a connection. If it is not 0, that connection is played
	// as if it ended right after this event, before any other connection is opened. Kernel threads
	// and goroutines are scheduled differently by microseconds, and a side that gives up a
	// connection also gives up its complete connections to the same peer.
	endsAfter int
}

// script loads the recording.
func (r *recorded) script(t *testing.T) *replay.Script {
	t.Helper()
	s := load(t, r.name).Records()
	if r.endsAfter == 0 {
		return s
	}
	var ends, others []replay.Event
	for _, e := range s.Events[r.endsAfter+1:] {
		if e.Kind == replay.Closed && e.Conn == s.Events[r.endsAfter].Conn {
			ends = append(ends, e)
		} else {
			others = append(others, e)
		}
	}
	s.Events = slices.Concat(s.Events[:r.endsAfter+1], ends, others)
	return s
}

// The settings that recorded nodes had.
var (
	v1      = role{settings: []string{"protocol: 1"}}
	v2      = role{settings: []string{"protocol: 2"}}
	v2csum  = role{settings: []string{"protocol: 2", "enable_csum: 1"}}
	csum    = role{settings: []string{"enable_csum: 1"}}
	four    = role{settings: []string{"conns_per_peer: 4"}}
	off     = role{settings: []string{"lnet_peer_discovery_disabled: 1"}}
	untyped = role{settings: []string{"typed_conns: 0"}}
)

// Reasons why lnetd may connect from other ports: one thread frees the port of a connection that
// has ended, while another thread opens the next connection.
const (
	refusedPort = "the port of the refused connection is free again, or not yet"
	redial      = "the connection that the bad checksum ended is dialled again at once, or after the one that is due"
	endedPort   = "the port of the connection that the bad checksum ended is free again, or not yet"
)

// recordings are the captures of kernel nodes over TCP, except three: replayOpenings and
// replayAnswers play tcp-err-handshake, replayRefusedPassive and replayRefusedActive play
// tcp-err-refused, and tcp-err-noarp has no TCP packet.
var recordings = []recorded{
	{
		name:     "tcp-csum-v2-bad",
		dialler:  role{settings: append([]string{"inject_csum_error: 1"}, v2csum.settings...), timeout: 2 * time.Second, fails: 1, deviations: deviations{anyPort: endedPort, anyOrder: redial}},
		listener: csum, endsAfter: 4, // the connection ends after the GET with the bad checksum
	},
	{name: "tcp-csum-v2-lst", dialler: v2csum, listener: csum},
	{name: "tcp-csum-v2-oneside", dialler: v2, listener: csum},
	{name: "tcp-csum-v3-lst", dialler: csum, listener: csum},
	{name: "tcp-csum-v3-ping", dialler: csum, listener: csum},
	{name: "tcp-discover"},
	{name: "tcp-discover-multi", listener: role{networks: "tcp(10.77.0.11),tcp5(10.99.7.11),tcp6(10.77.0.11)"}},
	{name: "tcp-discover-off", listener: off},
	{name: "tcp-discover-push"},
	{name: "tcp-err-peerlost", dialler: role{fails: 1}, listener: role{shutdown: true}},
	{
		name:     "tcp-err-put-noportal",
		listener: role{deaf: true, settings: []string{"keepalive: 1"}}, // 1 s, not the 30 s of the recorded node, to save time
	},
	{
		name:     "tcp-err-wrongnet",
		dialler:  role{networks: "tcp3", fails: 1},
		listener: role{reasons: map[string]uint64{"foreign_nid": 1}},
	},
	{name: "tcp-lst-brw-read-1M-full"},
	{name: "tcp-lst-brw-read-1M-simple", long: true},
	{name: "tcp-lst-brw-read-4K-full", long: true},
	{name: "tcp-lst-brw-read-4K-simple", long: true},
	{name: "tcp-lst-brw-read-64K-full", long: true},
	{name: "tcp-lst-brw-read-64K-simple"},
	{name: "tcp-lst-brw-write-1M-full"},
	{name: "tcp-lst-brw-write-1M-simple", long: true},
	{name: "tcp-lst-brw-write-4K-full"},
	{name: "tcp-lst-brw-write-4K-simple", long: true},
	{name: "tcp-lst-brw-write-64K-full", long: true},
	{name: "tcp-lst-brw-write-64K-simple", long: true},
	{name: "tcp-lst-console"},
	{name: "tcp-lst-ping"},
	{name: "tcp-lst-two-consoles"},
	{name: "tcp-ping"},
	{name: "tcp-ping-cpp1"},
	{name: "tcp-ping-cpp4", dialler: four, listener: four},
	{name: "tcp-ping-race"},
	{name: "tcp-ping-teardown", listener: role{shutdown: true}},
	{
		name: "tcp-ping-untyped",
		dialler: role{deviations: deviations{
			except: "a kernel with untyped connections dials with type ANY in v3, and never sends anything on what it gets; lnetd dials with v2 then, where untyped connections work",
		}},
		listener: untyped,
	},
	{name: "tcp-proto-v1-active", dialler: v1},
	{name: "tcp-proto-v1-lst", dialler: v1},
	{name: "tcp-proto-v1-passive", dialler: role{deviations: deviations{anyPort: refusedPort}}, listener: v1},
	{name: "tcp-proto-v2-active", dialler: v2},
	{name: "tcp-proto-v2-lst", dialler: v2},
	{name: "tcp-proto-v2-passive", dialler: role{deviations: deviations{anyPort: refusedPort}}, listener: v2},
	{name: "tcp6-ping-discover"},
}

// TestRecordings plays recordings against lnetd: all in a long run, fewer otherwise. It plays each
// twice, so that lnetd takes the place of each of the two nodes. All bytes that lnetd sends, their
// order, and the connections that it opens and ends must be those of the kernel. The test does with
// lnetd what the users of the recorded node did, and must get the same results.
func TestRecordings(t *testing.T) {
	spec.Covers(t, "ST-20", "ST-22")
	commands := lnetdtest.Build(t)
	list := slices.Clone(recordings)
	if !effort.Long() {
		list = slices.DeleteFunc(list, func(r recorded) bool { return r.long })
	}
	for _, r := range effort.Some(6, list) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			t.Run("dials", func(t *testing.T) { r.play(t, commands, r.dialler, replay.Initiator) })
			t.Run("listens", func(t *testing.T) { r.play(t, commands, r.listener, replay.Acceptor) })
		})
	}
}

// play puts lnetd in the place of one node.
func (r *recorded) play(t *testing.T, commands lnetdtest.Commands, as role, side replay.Side) {
	if as.except != "" {
		t.Skip(as.except)
	}
	script := r.script(t)
	if strings.Contains(r.name, "lst") {
		as.test(t, r.name, script, side)
	}
	as.play(t, commands, script, side)
}

// play plays the recorded host whose place lnetd does not take.
func (r *role) play(t *testing.T, commands lnetdtest.Commands, script *replay.Script, side replay.Side) {
	net := "tcp"
	if r.networks != "" {
		net = r.networks
	}
	s := newStage(t, commands, script, side, net, r.settings...)
	u := newUsers(t, s, script, r.peer(s), r.timeout)
	operate := u.operate
	var commanded func() error
	switch {
	case r.selftest:
		x := newTester(u, r.steps)
		operate = x.operate
		if len(r.steps) > 0 {
			commanded = x.commanded
		}
	case !r.deaf:
		u.post()
	}
	p := replay.Player{
		Differences: replay.Differences{RPCs: recording.Differences{LNet: true}},
		Script:      script, Host: s.playerAddr, Dial: s.dial, Listener: s.listen(t),
		Operate: operate, Established: s.established, Settled: s.settled, Commanded: commanded, AnyPort: r.anyPort != "", AnyOrder: r.anyOrder != "",
	}
	if r.shutdown {
		p.Shutdown = func() { u.run(s.daemon.Stop) }
	}
	if err := p.Play(t.Context()); err != nil {
		status, _ := node.OpStatus.Call(t.Context(), s.daemon.Control(), control.None{}) // the status is empty if the daemon has been shut down
		t.Fatalf("%v\ncounters %+v\n%v", err, status.Stats, u.failures())
	}
	u.wait(r.fails)
	if samples := p.RPCs.Samples; samples != r.samples {
		t.Errorf("%d differences of two samples were compared, want %d", samples, r.samples)
	}
	if r.reasons == nil {
		return
	}
	if diff := cmp.Diff(r.reasons, s.daemon.Reasons()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// peer returns the NID of the player, as lnetd knows it: the one on lnetd's first net.
func (r *role) peer(s *stage) nid.NID {
	net := nid.MustParseNet("tcp")
	if own, err := nid.ParseNet(r.networks); err == nil {
		net = own
	}
	return nid.FromAddr(net, s.playerAddr)
}
