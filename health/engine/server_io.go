package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// Record is the part of a connection's state that survives a restart of the server (CH-4).
type Record struct {
	Client      wire.ClientID // the client's id, unique among records
	Incarnation uint64        // number of the connected incarnation
	Master      nid.NID       // the server that watches over the client
	Epoch       uint32        // number of the client's choice of that master
	Peer        nid.ProcessID // the process from which the client sends
	Name        string        // a name for people to read; at most MaxName bytes
	Export      []byte        // data of the program, see health.AgentConfig.Export
}

// ServerInputKind tells inputs apart.
type ServerInputKind uint8

// The kinds of inputs, with the fields of [ServerInput] that they use.
const (
	ServerTimer      ServerInputKind = iota
	Arrived                          // uses From, Primary, PeerIncarnation, At, Data: a message arrived
	Seen                             // uses Client, At or Failed: the transport's answer to DoLook: when it last received a message of that NI; Failed: it received none
	ServerHealth                     // uses Server, Alive, Lifetime: a report of discovery
	QuorumIs                         // uses Alive, Unsure: whether there is a quorum, or discovery does not know, as after a pause or at its start (CH-A6)
	Saved                            // uses ID, Failed: DoSave has ended: the record is durable or, if Failed is true, cannot be saved
	BroadcastDone                    // uses ID, Failed, Servers (those that did not answer), Data (the reply)
	EvictArrived                     // uses Server, Data, Token: a batch of another server; the effect DoAnswer has the answer
	Restore                          // uses Record: a record saved before a restart
	RestoreTombstone                 // uses Client, Incarnation, Epoch, For: a tombstone from before a restart
	EvictClient                      // uses Client, Token: an administrator orders the client's eviction; the effect DoResult has the answer
	Drain                            // uses Alive: true begins draining, false ends it; or Count > 0: only ask Count clients, once, to choose other masters
	SetServers                       // uses Servers: all servers from now on
)

// ServerInput is an input to a step of a [Server]; the zero value is the timer. Slices need only
// be valid during Step.
type ServerInput struct {
	Kind            ServerInputKind // which of the other fields are used
	Alive           bool            // true: the server is alive, there is a quorum, or draining begins; false: the opposite
	Unsure          bool            // discovery does not know at present whether there is a quorum
	Failed          bool            // the write or the broadcast failed, or the transport has received no message
	Count           int             // number of clients to ask, once, to choose other masters; 0: draining begins or ends
	ID              uint64          // ID of the DoSave or DoBroadcast that has ended
	Incarnation     uint64          // incarnation of Client
	Epoch           uint32          // epoch of the choice of a master that the eviction ended, 24 bits; 0: not known, or any
	Lifetime        uint64          // how often Server has died, as discovery counts
	At              time.Duration   // when the message was received, in the caller's time; 0: now
	PeerIncarnation uint64          // incarnation of the NI that sent the message
	For             time.Duration   // remaining lifetime of the tombstone
	From            nid.ProcessID   // the process that sent the message, with the NID from which it came
	Primary         nid.NID         // primary NID of the sender's node, if the transport has confirmed it; may be equal to the NID of From, or invalid
	Server          nid.NID         // the server that the input is about
	Client          wire.ClientID   // the client that the input is about
	Data            []byte          // the message, the batch, or the reply
	Servers         []nid.NID       // all servers, or those that did not answer
	Record          *Record         // the record, which the caller owns
	Token           any             // any value of the caller; the effect that answers has the same one
}

// ServerEffectKind tells effects apart.
type ServerEffectKind uint8

// The kinds of effects, with the fields of [ServerEffect] that they use. Data
// is a range of ServerOutput.Buf.
const (
	DoSend      ServerEffectKind = iota // uses To, Server (if To is a server), Data: send a message
	DoSave                              // uses ID, Record: save records in the order of these effects; unless ID is 0, report Saved
	DoRemove                            // uses Client, Incarnation, Epoch, For: remove the record; add a tombstone if For > 0, remove it if For < 0
	DoBroadcast                         // uses ID, Data: send a batch to all live servers, then report BroadcastDone
	DoAnswer                            // uses Token, Data: send the reply to EvictArrived
	DoLook                              // uses Client, To, Incarnation (of the NI): report Seen, also if the transport has received no message of that NI
	DoTell                              // uses Event: report the event to the program
	DoResult                            // uses Token, Code, Server, Incarnation: the result of EvictClient; OK: the eviction has begun
)

// ServerEffect is one thing that a step asks its caller to do.
type ServerEffect struct {
	Kind        ServerEffectKind // which of the other fields are used
	Code        wire.Code        // the result of an administrator's order
	Begin, End  int              // Data is Buf[Begin:End]
	ID          uint64           // returned in Saved or BroadcastDone; 0: no result is wanted
	Incarnation uint64           // incarnation of Client, or of the NI of To
	For         time.Duration    // lifetime of the tombstone, see DoRemove
	Epoch       uint32           // epoch of the tombstone, see ServerInput.Epoch
	To          nid.ProcessID    // the receiver, or the process about which DoLook asks
	Server      nid.NID          // the receiver, if it is a server; or the client's master
	Client      wire.ClientID    // id of the client that the effect is about
	Token       any              // the Token of the input that the effect answers
	Record      *Record          // the record, which is not modified after the step
	Event       Event            // the event to report to the program
}

// EventKind tells events apart.
type EventKind uint8

// The kinds of events.
const (
	ClientConnected EventKind = iota // an incarnation of a client is connected
	ClientRecovered                  // the client was connected before this server's restart, and is connected again
	ClientSuspended                  // the client's eviction begins: do not serve it any more
	ClientEvicted                    // the client was evicted, for the reason Cause
	ClientOrphaned                   // the client's master is dead, or does not know the client
	ClientRehomed                    // the client has chosen another master, or its old one is confirmed
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

// Event is an event that is reported to the program of a server. QuorumLost and QuorumWon use
// only Kind.
type Event struct {
	Kind        EventKind     `json:"event"`           // what happened
	Cause       wire.Cause    `json:"cause"`           // reason of ClientSuspended and ClientEvicted
	Epoch       uint32        `json:"epoch,omitempty"` // number of the client's choice of Master
	Client      wire.ClientID `json:"client"`          // the client that the event is about
	Incarnation uint64        `json:"incarnation"`     // number of the client's incarnation
	Name        string        `json:"name,omitempty"`  // name of the client, for people to read
	Master      nid.NID       `json:"master,omitzero"` // the server that watches over the client
	Peer        nid.ProcessID `json:"peer,omitzero"`   // the process from which the client sends
}

// ServerOutput has what a step of a [Server] asks its caller to do, in order.
type ServerOutput struct {
	Effects []ServerEffect // to be applied in their order
	Buf     []byte         // the caller owns it after Step
}

// Reset empties o and keeps its memory.
func (o *ServerOutput) Reset() {
	clear(o.Effects)
	o.Effects, o.Buf = o.Effects[:0], o.Buf[:0]
}

// Data returns the data of an effect, part of o.Buf.
func (o *ServerOutput) Data(e *ServerEffect) []byte { return o.Buf[e.Begin:e.End] }
