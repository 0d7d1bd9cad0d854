package engine

import (
	"fmt"
	"slices"

	"ulnet/gossip/zone/wire"
)

// EventKind tells events apart.
type EventKind uint8

// The kinds of events, with the fields of [Event] that they use besides Node and ID.
const (
	Joined            EventKind = iota // sets Version: the node is in the view now (NOTIFY-JOIN, MS-9)
	Left                               // sets Version, Cause, Code: the node is no longer in the view (NOTIFY-LEAVE)
	AttributesChanged                  // sets Keys, Attributes: attributes of the node have changed (MS-85, MS-A23)
	Suspected                          // sets Version: this node has filed a suspicion
	Refuted                            // sets Version: this node's new version, which refutes a suspicion (MS-A2); see Output.Incarnation
	Clash                              // another node claims this node's id, or a member has the name of another member; in a minute at most one claim and 16 members are reported
	Refused                            // sets Keys: an attribute of this node is not written: see Machine.Fits
	Alarmed                            // sets Zone, Suspect, Reporters: a member of a base zone is suspected (MS-101)
	Contested                          // sets Zone, Members: a base zone has two active delegates, and the first of them takes precedence. Either two zones have this name, and one must be renamed, or a zone is partitioned.
	FarAhead                           // sets Version: that version of the node is refused, because it is too far ahead of the clock (MS-A2); reported at most once a minute
	Listed                             // sets Zone, Number, Size, Members, Unknown, More: answers QueryZone
	SupervisorLost                     // sets Zone, Suspect, Trouble: this delegate gave up a supervisor; reported once until the supervisor answers (MS-100)
	SupervisorFound                    // sets Zone, Suspect: a supervisor that was given up answers again
	ZoneRefused                        // sets Zone, Size: this supervisor guards Size zones, and has no room for another; reported at most once a minute
	Doubted                            // sets Version: enough nodes report that the node is silent; it is removed soon unless it refutes that
	eventKinds
)

var eventNames = [eventKinds]string{"joined", "left", "attributes", "suspected", "refuted", "clash", "refused", "alarmed", "contested", "far-ahead", "listed", "supervisor-lost", "supervisor-found", "zone-refused", "doubted"}

// EventNames returns the names of the kinds of events that listeners receive.
func EventNames() []string {
	names := slices.Clone(eventNames[:])
	return slices.Delete(names, int(Listed), int(Listed)+1) // Listed answers a query and goes to no listener
}

// CauseNames returns the names of the causes of Left.
func CauseNames() []string { return slices.Clone(causeNames[:]) }

// String returns the name of the kind.
func (k EventKind) String() string { return name(eventNames[:], int(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(text []byte) error {
	return unmarshalName(eventNames[:], "event", text, (*uint8)(k))
}

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "?"
	}
	return names[i]
}

// unmarshalName finds the value with the name in text.
func unmarshalName(names []string, what string, text []byte, v *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("zone: no %s %q", what, text)
	}
	*v = uint8(i)
	return nil
}

// Cause is why a node left the view.
type Cause uint8

// The causes.
const (
	Said      Cause = iota // the node said goodbye, with Code
	Dead                   // enough nodes suspect the node
	Restarted              // a newer incarnation of the node joins at once
	Corrected              // a neighbour had removed the node (MS-A9)
	Parted                 // this node itself has left by Agent.Leave, and its view is empty
	causes
)

var causeNames = [causes]string{"said", "dead", "restarted", "corrected", "parted"}

// String returns the name of the cause.
func (c Cause) String() string { return name(causeNames[:], int(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cause) UnmarshalText(text []byte) error {
	return unmarshalName(causeNames[:], "cause", text, (*uint8)(c))
}

// Event is an event that the machine reports. Joined and Left alternate for each node and
// incarnation; replaying them gives the view (MS-10).
type Event struct {
	Kind       EventKind        `json:"event"`                // decides which fields are set
	Cause      Cause            `json:"cause"`                // cause of a Left event
	Node       wire.Ref         `json:"-"`                    // number of the node in the machine's table
	ID         wire.ID          `json:"id,omitzero"`          // id of Node
	Version    wire.Version     `json:"version,omitzero"`     // version of Node
	Code       int32            `json:"code,omitempty"`       // exit code in a goodbye
	Keys       []string         `json:"keys,omitempty"`       // attribute keys that were written or deleted, in order
	Attributes []wire.Attribute `json:"attributes,omitempty"` // all attributes of the node, in the order in which they were written

	// Zone is the name of a base zone, in events of the management zone.
	Zone      string       `json:"zone,omitempty"`
	Suspect   wire.Named   `json:"suspect,omitzero"`    // the member, delegate or supervisor that the event is about
	Trouble   Trouble      `json:"trouble,omitzero"`    // reason of a SupervisorLost event
	Reporters int          `json:"reporters,omitempty"` // how many members suspect Suspect, as its active delegate knows
	Number    uint64       `json:"number,omitempty"`    // number of the query that is answered
	Size      int          `json:"size,omitempty"`      // number of members of the zone, or of zones; of Listed: more than Members of all parts if the supervisor does not know all members
	Members   []wire.Named `json:"members,omitempty"`   // answer of Listed, or the delegates of Contested
	Unknown   bool         `json:"unknown,omitempty"`   // no supervisor guards the zone
	More      bool         `json:"more,omitempty"`      // another event continues the list Members
}

// tell appends an event.
func (m *Machine) tell(e Event) {
	e.ID = m.cfg.Table.ID(e.Node)
	m.out.Events = append(m.out.Events, e)
}
