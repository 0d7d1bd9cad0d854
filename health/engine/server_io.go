package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// Record is what a server remembers of a connection over a restart (CH-4).
type Record struct {
	Client      wire.ClientID
	Incarnation uint64
	Master      nid.NID
	Epoch       uint32
	Peer        nid.ProcessID // whence the client speaks
	Name        string        // at most MaxName bytes
	Export      []byte        // what the user of health adds
}

// ServerInputKind tells inputs apart.
type ServerInputKind uint8

// The kinds of inputs, with the fields of [ServerInput] that they use.
const (
	ServerTimer      ServerInputKind = iota
	Arrived                          // From, PeerIncarnation, At, Data: a message arrived
	Seen                             // Client, At: answers DoLook: when the transport heard of its node last
	ServerHealth                     // Server, Alive, Lifetime: what discovery says
	QuorumIs                         // Alive: there is a quorum; Unsure: discovery cannot tell, as after a pause (CH-A6)
	Saved                            // ID, Failed: the record of DoSave is durable, or cannot be saved
	BroadcastDone                    // ID, Failed, Servers (that did not answer), Data (the reply)
	EvictArrived                     // Server, Data, Token: a batch of another server; DoAnswer answers
	Restore                          // Record: from before a restart
	RestoreTombstone                 // Client, Incarnation, For: likewise, a tombstone
	EvictClient                      // Client, Token: an administrator wants it evicted; DoResult answers
	Drain                            // Alive: from now on, or not any more; Count: only so many clients, once
	SetServers                       // Servers: all servers from now on
)

// ServerInput is what a [Server] steps on; the zero value is the timer. Slices
// are valid during Step.
type ServerInput struct {
	Kind            ServerInputKind
	Alive           bool
	Unsure          bool
	Failed          bool
	Count           int
	ID              uint64
	Incarnation     uint64
	Lifetime        uint64
	At              time.Duration // of a message: when it was received, 0: now
	PeerIncarnation uint64        // of the NI that sent it
	For             time.Duration
	From            nid.ProcessID
	Server          nid.NID
	Client          wire.ClientID
	Data            []byte
	Servers         []nid.NID
	Record          *Record
	Token           any
}

// ServerEffectKind tells effects apart.
type ServerEffectKind uint8

// The kinds of effects, with the fields of [ServerEffect] that they use. Data
// is a range of ServerOutput.Buf.
const (
	DoSend      ServerEffectKind = iota // To, Server (if To is one), Data: send a message
	DoSave                              // ID, Record: save it, in the order of these effects; answer Saved unless ID is 0
	DoRemove                            // Client, Incarnation, For: remove the record; with a tombstone for so long, if not 0; below 0 without the one that there is
	DoBroadcast                         // ID, Data: send a batch to all live servers, answer BroadcastDone
	DoAnswer                            // Token, Data: the reply to EvictArrived
	DoLook                              // Client, To, Incarnation (of the peer): answer Seen, if the transport has heard of that one last
	DoTell                              // Event
	DoResult                            // Token, Code, Server, Incarnation: of EvictClient; OK: it is being evicted
)

// ServerEffect is one thing that a step wants done.
type ServerEffect struct {
	Kind        ServerEffectKind
	Code        wire.Code
	Begin, End  int // Data is Buf[Begin:End]
	ID          uint64
	Incarnation uint64
	For         time.Duration
	To          nid.ProcessID
	Server      nid.NID
	Client      wire.ClientID
	Token       any
	Record      *Record
	Event       Event
}

// EventKind tells events apart.
type EventKind uint8

// The kinds of events.
const (
	ClientConnected EventKind = iota // an incarnation of a client is connected
	ClientRecovered                  // it was before this server's restart
	ClientSuspended                  // its eviction begins: serve it no more
	ClientEvicted                    // Cause
	ClientOrphaned                   // its master is dead or unsure
	ClientRehomed                    // it has another master, or is sure of its old one
	QuorumLost                       // this server is cut off from most others
	QuorumWon
	events
)

var eventNames = [events]string{
	"connected", "recovered", "suspended", "evicted", "orphaned", "rehomed", "quorum-lost", "quorum-won",
}

// EventNames returns the names of all events of servers.
func EventNames() []string { return slices.Clone(eventNames[:]) }

// String returns the name of the kind.
func (k EventKind) String() string { return name(eventNames[:], uint64(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(text []byte) error { return unmarshal(k, eventNames[:], text) }

// Event is something that the user of a server is told.
type Event struct {
	Kind        EventKind     `json:"event"`
	Cause       wire.Cause    `json:"cause"`
	Epoch       uint32        `json:"epoch,omitempty"`
	Client      wire.ClientID `json:"client"`
	Incarnation uint64        `json:"incarnation"`
	Name        string        `json:"name,omitempty"`
	Master      nid.NID       `json:"master,omitzero"`
	Peer        nid.ProcessID `json:"peer,omitzero"`
}

// ServerOutput is what a [Server] wants done, in order.
type ServerOutput struct {
	Effects []ServerEffect
	Buf     []byte // belongs to the caller after Step
}

// Reset empties o and keeps its memory.
func (o *ServerOutput) Reset() {
	clear(o.Effects)
	o.Effects, o.Buf = o.Effects[:0], o.Buf[:0]
}

// Data returns the data of an effect, part of o.Buf.
func (o *ServerOutput) Data(e *ServerEffect) []byte { return o.Buf[e.Begin:e.End] }
