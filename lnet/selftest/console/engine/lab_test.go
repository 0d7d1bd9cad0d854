package engine_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	node "ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// latency is how long each message takes, unless a test says otherwise.
const latency = 100 * time.Microsecond

// lab is a network of hosts in virtual time. Each host is a console and a test node.
type lab struct {
	t       *testing.T
	now     time.Duration
	latency time.Duration // time that each message takes
	events  machine.Deadlines[func()]
	hosts   map[nid.NID]*host
	lost    func(from, to *host, service wire.Service) bool // whether a message is lost; a reply has the service of its request
	refuse  syscall.Errno                                   // error with which sending a request to a dead host fails; 0: the request is sent and gets lost
	answers map[uint64]*answer
	id      uint64 // number of the latest command
	sent    map[wire.Service]int
	most    int // most RPCs of consoles under way at one time
	under   int
}

// host is a console and a test node.
type host struct {
	lab      *lab
	id       nid.ProcessID
	console  *engine.Console
	node     *node.Node
	wakes    [2]machine.Deadline[func()] // next steps of the console and of the test node
	lists    map[uint64][]byte           // lists of the console's RPCs, by their match bits
	bits     map[uint64]uint64           // by the ID of an RPC: match bits of its list
	services map[uint64]wire.Service     // by the ID of an RPC: its service
	dead     bool
	said     []wire.Message // requests that the host got as a test node
	fake     func(request *wire.Message) (reply *wire.Message)
}

// answer is how a command has ended.
type answer struct {
	engine.Result
	err  error
	at   time.Duration
	over bool
}

// hostID returns the process of host i, from 0 on.
func hostID(i int) nid.ProcessID { return process(fmt.Sprintf("10.1.%d.%d@tcp", i/200, i%200+1)) }

func hostIDs(list ...int) []nid.ProcessID {
	ids := make([]nid.ProcessID, len(list))
	for i, h := range list {
		ids[i] = hostID(h)
	}
	return ids
}

func newLab(t *testing.T, hosts int, cfg engine.Config) *lab {
	t.Helper()
	l := &lab{
		t: t, latency: latency, hosts: map[nid.NID]*host{}, answers: map[uint64]*answer{}, sent: map[wire.Service]int{},
		lost: func(*host, *host, wire.Service) bool { return false },
	}
	for i := range hosts {
		h := &host{lab: l, id: hostID(i), lists: map[uint64][]byte{}, bits: map[uint64]uint64{}, services: map[uint64]wire.Service{}}
		cfg.FirstID, cfg.FirstStamp = uint64(i)<<48|consoles, 1000
		var err error
		if h.console, err = engine.New(cfg); err != nil {
			t.Fatal(err)
		}
		if h.node, err = node.NewNode(node.Config{FirstID: uint64(i)<<48 | 1}); err != nil {
			t.Fatal(err)
		}
		l.hosts[h.id.NID] = h
	}
	return l
}

// consoles is a bit that is set in the numbers of a console's RPCs, and clear in those of a test node's.
const consoles = 1 << 47

// after calls f when the time d has passed.
func (l *lab) after(d time.Duration, f func()) {
	l.events.Set(&machine.Deadline[func()]{Of: f}, l.now+d)
}

// run lets time pass.
func (l *lab) run(d time.Duration) {
	end := l.now + d
	for e := l.events.Pop(end); e != nil; e = l.events.Pop(end) {
		l.now = max(l.now, e.At())
		e.Of()
	}
	l.now = end
}

// stepConsole steps the console of a host, and carries out what follows.
func (h *host) stepConsole(in engine.Input) {
	if h.dead {
		return
	}
	var out engine.Output
	h.wake(0, h.console.Step(h.lab.now, in, &out), func() { h.stepConsole(engine.Input{}) })
	if len(h.lab.hosts) < 100 { // in larger networks the check takes too long
		if err := h.console.Invariants(); err != nil {
			h.lab.t.Fatal(err)
		}
	}
	for i := range out.Effects {
		h.carryOut(&out.Effects[i])
	}
}

// wake schedules the step for which a machine has asked, at the time at.
func (h *host) wake(which int, at time.Duration, f func()) {
	d := &h.wakes[which]
	if h.lab.events.Clear(d); at != machine.Never {
		if at <= h.lab.now {
			h.lab.t.Fatalf("at %v a machine wants to be stepped at %v", h.lab.now, at)
		}
		d.Of = f
		h.lab.events.Set(d, at)
	}
}

func (h *host) carryOut(e *engine.Effect) {
	l := h.lab
	switch e.Kind {
	case engine.DoAnswer:
		a := l.answers[e.ID]
		if a.over {
			l.t.Errorf("command %d has ended twice", e.ID)
		}
		*a = answer{Result: e.Result, err: e.Err, at: l.now, over: true}
	case engine.DoCall:
		l.sent[e.Service]++
		l.under++
		l.most = max(l.most, l.under)
		if h.services[e.ID] = e.Service; e.Bits != 0 {
			h.lists[e.Bits], h.bits[e.ID] = e.List, e.Bits
		}
		l.request(h, e.Peer.NID, e.Service, e.Data, func(errno syscall.Errno) {
			h.stepConsole(engine.Input{Kind: engine.Sent, ID: e.ID, Errno: errno})
		})
	case engine.DoReply:
		h.reply(l.hosts[e.Peer.NID], e.ID, e.Data)
	case engine.DoFree:
		l.under--
		delete(h.lists, h.bits[e.ID])
		delete(h.bits, e.ID)
	}
}

// request carries a request to a host.
func (l *lab) request(from *host, to nid.NID, service wire.Service, data []byte, failed func(syscall.Errno)) {
	dest := l.hosts[to]
	switch {
	case dest == nil || dest.dead && l.refuse != 0:
		errno := l.refuse
		if errno == 0 {
			errno = syscall.EHOSTUNREACH
		}
		l.after(l.latency, func() { failed(errno) })
	case l.lost(from, dest, service):
	default:
		l.after(l.latency, func() { dest.arrived(from, service, data) })
	}
}

// arrived hands a request to the test node of a host.
func (h *host) arrived(from *host, service wire.Service, data []byte) {
	if h.dead {
		return
	}
	m, err := wire.ParseMessage(data)
	if err != nil {
		h.lab.t.Fatal(err)
	}
	if h.said = append(h.said, m); h.fake == nil {
		h.stepNode(node.Input{Kind: node.Arrived, Peer: from.id, Self: h.id.NID, Service: service, Data: data, Console: true})
		return
	}
	if reply := h.fake(&m); reply != nil {
		b, err := reply.AppendBinary(nil)
		if err != nil {
			h.lab.t.Fatal(err)
		}
		h.reply(from, m.ReplyID, b)
	}
}

// reply carries a reply to the console or the test node that has the RPC.
func (h *host) reply(to *host, id uint64, data []byte) {
	l := h.lab
	if l.lost(h, to, to.services[id]) {
		return
	}
	l.after(l.latency, func() {
		if id&consoles != 0 {
			to.stepConsole(engine.Input{Kind: engine.Replied, ID: id, Data: data})
		} else {
			to.stepNode(node.Input{Kind: node.Replied, ID: id, Data: data})
		}
	})
}

// stepNode steps the test node of a host, and carries out what follows. Bulk data take no memory.
func (h *host) stepNode(in node.Input) {
	if h.dead {
		return
	}
	l := h.lab
	var out node.Output
	h.wake(1, h.node.Step(l.now, in, &out), func() { h.stepNode(node.Input{}) })
	for i := range out.Effects {
		e := &out.Effects[i]
		peer := l.hosts[e.Peer.NID]
		switch e.Kind {
		case node.DoReply:
			h.reply(peer, e.Bits, e.Data)
		case node.DoJoin:
			h.stepConsole(engine.Input{Kind: engine.Joined, Peer: e.Peer, Self: e.Self, ReplyID: e.Bits, Features: e.Features, Join: *e.Join})
		case node.DoGet, node.DoPut:
			l.after(2*l.latency, func() {
				list, ok := peer.lists[e.Bits]
				h.stepNode(node.Input{Kind: node.Moved, ID: e.ID, Data: list, Failed: e.List && !ok})
			})
			l.after(l.latency, func() { peer.stepNode(node.Input{Kind: node.Bulk, ID: e.Bits - 1}) })
		case node.DoCall:
			l.after(0, func() { h.stepNode(node.Input{Kind: node.Sent, ID: e.ID}) })
			l.request(h, e.Peer.NID, e.Service, e.Data, func(syscall.Errno) {
				h.stepNode(node.Input{Kind: node.Sent, ID: e.ID, Failed: true})
			})
		}
	}
}

// begin begins a command at the console of a host.
func (l *lab) begin(i int, command engine.Command) (*answer, uint64) {
	h := l.hosts[hostID(i).NID]
	l.id++
	id, a := l.id, &answer{}
	l.answers[id] = a
	h.stepConsole(engine.Input{Kind: engine.Do, ID: id, Command: command, Self: h.id.NID})
	return a, id
}

// do runs a command to its end.
func (l *lab) do(i int, command engine.Command) *answer {
	l.t.Helper()
	a, _ := l.begin(i, command)
	for end := l.now + 2*time.Minute; !a.over; {
		if l.now >= end {
			l.t.Fatalf("%T does not end", command)
		}
		l.run(l.latency)
	}
	return a
}

// must runs commands that succeed at all nodes, and returns the answers to the last one.
func (l *lab) must(i int, commands ...engine.Command) (answers []engine.Answer) {
	l.t.Helper()
	for _, c := range commands {
		a := l.do(i, c)
		if a.err != nil {
			l.t.Fatalf("%T: %v", c, a.err)
		}
		for k := range a.Answers {
			if !a.Answers[k].OK() {
				l.t.Fatalf("%T: %+v", c, a.Answers[k])
			}
		}
		answers = a.Answers
	}
	return answers
}

// fails fails the test unless a command is refused with an errno and a hint.
func (l *lab) fails(i int, command engine.Command, want syscall.Errno) {
	l.t.Helper()
	a := l.do(i, command)
	if e, ok := errors.AsType[*engine.Error](a.err); !errors.Is(a.err, want) || !ok || e.Hint == "" || e.Why == "" {
		l.t.Errorf("%T %+v: %v, want %v", command, command, a.err, want)
	}
}

// open makes a session with key 1 at host 0, with hosts in the group "g".
func (l *lab) open(hosts ...int) {
	l.t.Helper()
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(hosts...)})
}

const key = 1

// host returns host i.
func (l *lab) host(i int) *host { return l.hosts[hostID(i).NID] }

// took clears what a host got as a test node, and returns the requests of one type.
func (h *host) took(want wire.Type) (list []wire.Message) {
	for _, m := range h.said {
		if m.Type == want {
			list = append(list, m)
		}
	}
	h.said = nil
	return list
}

// states returns the states of the nodes of a group.
func (l *lab) states(group string) (list []engine.State) {
	l.t.Helper()
	g, err := l.host(0).console.Group(group)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, n := range g.Nodes {
		list = append(list, n.State)
	}
	return list
}
