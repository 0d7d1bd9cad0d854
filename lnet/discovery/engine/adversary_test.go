package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// host is a node of the simulated world.
type host struct {
	name         string
	honest       bool
	ids          []nid.NID          // NIDs that the host has now
	ever         []nid.NID          // NIDs that the host has now or had earlier
	incarnations map[nid.NID]uint64 // incarnation of the host's NI, by NID
	sequence     uint32
}

// world is a machine among honest nodes, whose infos are correct, and other nodes, which send
// any info over connections of their own.
type world struct {
	*bench
	r     *rand.Rand
	hosts []*host
	known map[nid.NID]lnet.Peer     // peers by NID, as the machine told lnet
	asked map[nid.NID]time.Duration // by NID of an honest node: time since which a discovery of that NID is awaited
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		bench: newBench(t, Limits{MaxInFlight: 64, MaxProbes: 8, MaxClaims: 40}), r: rand.New(rand.NewPCG(seed, 3)),
		known: make(map[nid.NID]lnet.Peer), asked: make(map[nid.NID]time.Duration),
	}
	nets := []string{"tcp", "tcp", "tcp1", "tcp2", "o2ib9"} // no NI of this node reaches the last net
	for i := range 6 {
		h := &host{name: fmt.Sprintf("host %d", i), honest: i < 4, incarnations: make(map[nid.NID]uint64), sequence: 2}
		for k := range 1 + w.r.IntN(4) {
			h.ids = append(h.ids, nid.MustParse(fmt.Sprintf("10.%d.0.%d@%s", i+11, k+1, nets[w.r.IntN(len(nets))])))
		}
		h.ids = append(h.ids, nid.MustParse(fmt.Sprintf("10.%d.0.99@tcp", i+11)))
		h.ever = slices.Clone(h.ids)
		h.restart(w.r)
		w.hosts = append(w.hosts, h)
	}
	return w
}

func (h *host) restart(r *rand.Rand) {
	for _, id := range h.ever {
		h.incarnations[id] = 1 + r.Uint64N(1<<20)
	}
}

func (w *world) owner(id nid.NID) *host {
	for _, h := range w.hosts {
		if slices.Contains(h.ever, id) {
			return h
		}
	}
	return nil
}

func (w *world) some() *host { return w.hosts[w.r.IntN(len(w.hosts))] }

func (w *world) someOf(ids []nid.NID) nid.NID { return ids[w.r.IntN(len(ids))] }

// tell fills in the ping info of h in a message from one of its NIDs. The info is correct if h
// is honest.
func (w *world) tell(h *host, from nid.NID, in Input) Input {
	in.Local, in.Remote, in.Known, in.Incarnation = us, from, true, h.incarnations[from]
	if h.honest {
		in.Info = info(full, h.sequence, h.ids...)
		return in
	}
	var list []nid.NID
	for range w.r.IntN(12) {
		list = append(list, w.someOf(w.some().ever))
	}
	if w.r.IntN(2) == 0 {
		list = append(list, from, us, nid.MustParse(fmt.Sprintf("10.99.0.%d@tcp", w.r.IntN(200))))
	}
	sequence := []uint32{0, 1, 2, w.r.Uint32N(100), 1<<32 - 1}[w.r.IntN(5)]
	in.Info = info([]wire.Features{full, full, full, off, plain}[w.r.IntN(5)], sequence, list...)
	in.Incarnation = w.r.Uint64N(3)
	if w.r.IntN(8) == 0 {
		in.Need = w.r.IntN(5000)
	}
	return in
}

// see steps the machine with in and checks the peers that it publishes.
func (w *world) see(in Input) {
	w.t.Helper()
	w.step(in)
	for _, id := range w.out.Gone {
		delete(w.known, id)
	}
	for _, p := range w.out.Peers {
		for _, ni := range p.NIs {
			w.known[ni.NID] = p
		}
	}
	for id, p := range w.known {
		for _, other := range append(names(p.NIs), p.Primary) {
			if a, b := w.owner(id), w.owner(other); a != b && (a.honest || b.honest) {
				w.t.Fatalf("after %+v: %v of %s counts as %v of %s", in, id, a.name, other, b.name)
			}
		}
	}
	for _, d := range w.out.Done {
		delete(w.asked, d.NID)
	}
	// Each NID that has sent an info may cause a burst of probes, and one probe a second.
	most := uint64(len(w.hosts)*5) * uint64(probeBurst+w.now/probeInterval+1)
	if s := w.m.Stats(); s.Probes > most {
		w.t.Fatalf("%d probes in %v", s.Probes, w.now)
	}
}

// answer answers a ping or push as the node that has the NID would. If no node has the NID any more, the
// exchange fails.
func (w *world) answer(s Send) {
	in := Input{Kind: Acked, Exchange: s.Exchange, Local: us, Remote: s.To, Sequence: w.m.self.Sequence}
	h := w.owner(s.To)
	switch {
	case h == nil || !slices.Contains(h.ids, s.To):
		in = Input{Kind: Failed, Exchange: s.Exchange, Err: syscall.EHOSTUNREACH}
	case !s.Push:
		in.Kind = Replied
		in = w.tell(h, s.To, in)
	}
	w.see(in)
}

// disorder makes one random event happen: a push, an answer or its failure, a forgery, a discovery, a change of a
// node, or time that passes.
func (w *world) disorder() {
	h := w.some()
	switch w.r.IntN(12) {
	case 0, 1, 2:
		w.see(w.tell(h, w.someOf(h.ids), Input{Kind: Pushed}))
	case 3, 4, 5:
		if len(w.open) > 0 {
			w.answer(w.open[w.r.IntN(len(w.open))])
		}
	case 6:
		if len(w.open) > 0 {
			w.see(Input{Kind: Failed, Exchange: w.open[w.r.IntN(len(w.open))].Exchange, Err: syscall.EIO})
		}
	case 7: // a dishonest node pushes as a user process at the NID of any node, or answers any ping or push that is open
		liar := w.tell(w.hosts[len(w.hosts)-1], w.someOf(h.ids), Input{Kind: Pushed})
		liar.User = true
		if from := w.hosts[len(w.hosts)-1].ids[0]; len(w.open) > 0 && w.r.IntN(2) == 0 {
			liar = w.tell(w.owner(from), from, Input{Kind: Replied, Exchange: w.open[w.r.IntN(len(w.open))].Exchange})
		}
		w.see(liar)
	case 8:
		w.see(Input{Kind: []Kind{Discover, Refresh, Forget}[w.r.IntN(3)], NID: w.someOf(h.ids), Force: w.r.IntN(3) == 0})
	case 9:
		w.change(h)
	default:
		w.pass(time.Duration(w.r.IntN(3000)) * time.Millisecond)
	}
}

// change makes a node restart, lose an NI or get one back.
func (w *world) change(h *host) {
	switch {
	case w.r.IntN(3) == 0:
		h.restart(w.r)
		h.sequence = 2
		return
	case len(h.ids) > 1 && w.r.IntN(2) == 0:
		h.ids = slices.Delete(slices.Clone(h.ids), 0, 1)
	default:
		h.ids = slices.Clone(h.ever)
	}
	h.sequence++
}

// pass lets d of virtual time pass.
func (w *world) pass(d time.Duration) {
	end := w.now + d
	for w.wake <= end {
		w.now = max(w.wake, w.now)
		w.see(Input{})
	}
	w.now = end
}

// settle ends all open exchanges: the honest nodes answer at once, and the dishonest ones never do.
func (w *world) settle() {
	for i := 0; i < len(w.open); {
		if h := w.owner(w.open[i].To); h != nil && !h.honest {
			i++
			continue
		}
		w.answer(w.open[i])
		i = 0
	}
}

// TestAdversary: dishonest nodes claim anything, in any order, from any of their connections
// and with any sequence number. No NID of an honest node is ever attributed to another node,
// and no NID of another node to an honest one. When the honest nodes stop changing, they are
// discovered within a second, and are soon known by all NIDs that can be pinged.
func TestAdversary(t *testing.T) {
	effort.OneGoroutine(t)
	for seed := range uint64(100) {
		w := newWorld(t, seed)
		for range 400 {
			w.disorder()
		}
		for _, h := range w.hosts {
			h.ids = slices.Clone(h.ever)
			h.sequence++
		}
		w.pass(w.m.limits.Timeout) // exchanges whose messages were lost time out
		for round := range 120 {
			for _, h := range w.hosts {
				from := h.ids[len(h.ids)-1] // the NID on tcp, which every host has, at the end of its list
				if !h.honest {
					w.see(w.tell(h, from, Input{Kind: Pushed}))
				} else if _, open := w.asked[from]; !open && (w.r.IntN(20) == 0 || round%40 == 1) {
					w.asked[from] = w.now
					w.see(Input{Kind: Refresh, NID: from})
				}
			}
			w.settle()
			w.pass(time.Second)
			w.settle()
			for id, since := range w.asked {
				if w.now-since > 2*probePatience {
					t.Fatalf("seed %d: the discovery of %v takes %v", seed, id, w.now-since)
				}
			}
		}
		w.converged(seed)
	}
}

// converged checks that the machine knows each honest node under all those of its NIDs that can be pinged or
// that were discovered. The machine must list them in the order in which the node has them.
func (w *world) converged(seed uint64) {
	w.t.Helper()
	for _, h := range w.hosts {
		if !h.honest {
			continue
		}
		got := names(w.known[h.ids[len(h.ids)-1]].NIs)
		want := slices.DeleteFunc(slices.Clone(h.ids), func(id nid.NID) bool {
			return !w.m.reaches(id) && !slices.Contains(got, id)
		})
		for _, id := range want {
			if p := w.known[id]; !slices.Equal(names(p.NIs), want) || p.Primary != want[0] || !p.Flags.UpToDate() {
				w.t.Fatalf("seed %d: %v of %v is known as %+v", seed, id, h.ids, p)
			}
		}
	}
}
