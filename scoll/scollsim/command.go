package scollsim

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// Kinds of groups.
const (
	kindDelayed   = "delayed"
	kindImmediate = "immediate"
	kindOOB       = "oob"
)

// Modes of broadcasts.
const (
	modeAll  = "all"
	modeLive = "live"
	modeLast = "last"
	// modeLiveLast is live and last: over an out-of-band group only.
	modeLiveLast = "live-last"
)

// modeFlags are the flags of requests by mode.
var modeFlags = map[string]wire.Flags{
	modeLive: wire.FlagSubset, modeLast: wire.FlagLast, modeLiveLast: wire.FlagSubset | wire.FlagLast,
}

// behaviour says what the service of a node does.
type behaviour struct {
	kind  serviceKind
	delay time.Duration
}

type serviceKind uint8

const (
	works   serviceKind = iota
	mute                // the service never replies
	slow                // the service takes a while to run a request, and replies after that
	rejects             // the service refuses in pre-request, with EPERM
	fails               // the service fails to run a request, with EIO
	stuck               // the service never returns from running a request
	aborts              // the service aborts the request instead of running it, and does not reply
	below               // the service replies for the members below, not for itself
	parts               // the service replies with a part, and never with the last part
	large               // the service tries to reply with more than a message carries, and gives up
)

var serviceKinds = []string{"works", "mute", "slow", "rejects", "fails", "stuck", "aborts", "below", "parts", "large"}

// order is a broadcast that a verb requests.
type order struct {
	mode       string
	processing time.Duration
	bulk       int
	payload    int
}

// isLive reports whether the broadcast goes to the live members only.
func (o *order) isLive() bool { return modeFlags[o.mode]&wire.FlagSubset != 0 }

// readOrder reads the arguments "GROUP [MODE] [PROCESSING] [BULK] [PAYLOAD]".
func readOrder(args scenario.Args) order {
	return order{mode: args.Word(1), processing: args.Duration(2), bulk: args.Int(3), payload: args.Int(4)}
}

// behave sets what the service of a node does from now on, also in later incarnations.
func (n *Net) behave(id sim.NodeID, args scenario.Args) {
	n.services[id] = behaviour{serviceKind(slices.Index(serviceKinds, args.Word(0))), args.Duration(1)}
	n.faults.behaves(id, n.services[id])
}

// command executes a verb of a scenario at a node.
func (n *Net) command(k incarnation, id sim.NodeID, verb string, args scenario.Args) {
	g := n.groups.byName[args.Word(0)]
	made := g != nil && g.made
	switch verb {
	case "create": // arguments: NAME KIND [NODES]
		g, err := n.groups.add(args)
		if err != nil {
			n.Failed(err)
		} else if g.creator, g.deaths = id, n.oracle.deaths[id]; !g.oob {
			k.create(g, args.Word(1) == kindImmediate)
		}
	case "destroy":
		if made {
			k.destroy(g)
		}
	case "list": // arguments: NAME NODES
		if made && g.oob {
			if err := n.groups.relist(g, args.Word(1), n.Now()); err != nil {
				n.Failed(err)
			}
		}
	case "broadcast":
		b, status := n.ledger.begin(id, args), scoll.ENOGROUP
		if made || g != nil && g.ending {
			status = k.send(g, b)
		}
		if status != scoll.OK && b.Outcome == UnderWay {
			b.notSent(status)
		}
	case "abort":
		n.faults.nodes[id].aborted = n.Now()
		k.abort()
	case "service":
		n.behave(id, args)
	}
}

// payloadOf returns the payload of a broadcast: its number, and zeros up to the size.
func payloadOf(number uint32, size int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, number)
	return append(b, make([]byte, max(size-len(b), 0))...)
}

// numberOf reads the number of a broadcast in its payload; 0 if there is none.
func numberOf(payload []byte) uint32 {
	if len(payload) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(payload)
}

// work is a request at a node, as its service sees it.
type work struct {
	number   uint32
	root     bool
	posted   bool // the post-reply callback was called
	worked   bool // the service has run the request
	failed   bool // the service must not reply
	stuck    bool // the service does not return from running the request
	answered bool // the service has replied
	bulk     uint64
	got      map[uint64][]byte // answers of members, by rank, or in stacks by the number of the node
}

// entrySize is the size in bytes of a node's number in a reply of the service.
const entrySize = 4

// begins is called when the service of a node begins to run a request. It records that, and
// returns how the service behaves.
func (n *Net) begins(w *work, node sim.Incarnation) behaviour {
	n.ledger.ran(w.number, node)
	s := n.services[node.Node]
	switch s.kind {
	case fails, aborts:
		w.failed = true
	case stuck:
		w.stuck = true
	case slow:
	default:
		w.worked = true
	}
	return s
}

// answer returns the reply of a node's service, once all children have replied and the work is
// done. ok is false if the service does not reply, or not yet.
func (n *Net) answer(w *work, id sim.NodeID) (b []byte, kind serviceKind, ok bool) {
	kind = n.services[id].kind
	if w.root || !w.posted || !w.worked || w.failed || w.answered || kind == mute {
		return nil, kind, false
	}
	w.answered = true
	if b = w.all(); kind != below {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b, kind, true
}

// take adds a message of an answer. A nil payload stands for an error, which cancels earlier
// parts.
func (w *work) take(of uint64, payload []byte) {
	if w.got == nil {
		w.got = make(map[uint64][]byte)
	}
	if payload == nil {
		delete(w.got, of)
		return
	}
	w.got[of] = append(w.got[of], payload...)
}

// all returns the answers that have arrived so far.
func (w *work) all() (b []byte) {
	for _, of := range slices.Sorted(maps.Keys(w.got)) {
		b = append(b, w.got[of]...)
	}
	return b
}
