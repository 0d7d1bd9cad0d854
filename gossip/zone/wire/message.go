package wire

// Kind tells messages apart.
type Kind uint8

// The kinds of messages, and which fields of [Message] they use besides From and
// Version.
const (
	Heartbeat        Kind = 1 + iota // to neighbours: Hash, Tables; Echo asks for one back
	LinkRequest                      // be my neighbour: Roles; has the sender's id in full
	LinkAccept                       // answer: Roles: what the sender wants of the link itself
	LinkRefuse                       // answer: Reason; Removed: About is the receiver, with the version that was removed; Redirect: ask About
	LinkDrop                         // Reason: NoLink or Unwanted
	Base                             // the whole view and all suspicions, to a new neighbour; Repair: with the history; Ask: send yours
	Update                           // what changed
	DiscoveryRequest                 // asks for the members; has the sender's id in full
	DiscoveryReply                   // the whole view; Third: it answers a reply
	AttributeDigest                  // Lists.Tables: versions of attribute tables
	AttributeRequest                 // Lists.Tables: what the sender has; Push: the receiver answers only if it has more
	AttributeData                    // Lists.Data
	Notice                           // Lists.Suspicions: at once, to monitors (MS-60)
	// Kinds is one more than the highest kind.
	Kinds
)

var kindNames = [Kinds]string{
	"?0?", "heartbeat", "link-request", "link-accept", "link-refuse", "link-drop", "base", "update",
	"discovery-request", "discovery-reply", "attribute-digest", "attribute-request", "attribute-data", "notice",
}

// String returns the name of the kind.
func (k Kind) String() string { return name(kindNames[:], int(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// HasLists reports whether messages of a kind consist of lists, which
// [Codec.AppendParts] may cut.
func (k Kind) HasLists() bool { return k.lists() || k.tables() || k == AttributeData }

// lists reports whether messages of a kind consist of lists of members.
func (k Kind) lists() bool {
	return k == Base || k == Update || k == DiscoveryReply || k == Notice
}

// tables reports whether messages of a kind consist of versions of tables.
func (k Kind) tables() bool { return k == AttributeDigest || k == AttributeRequest }

func name(names []string, i int) string {
	if i >= len(names) {
		return "?"
	}
	return names[i]
}

// Flags say more about a message.
type Flags uint16

// The flags.
const (
	Signed  Flags = 1 << iota // a code made with the cluster's key ends the message
	Echo                      // Heartbeat: answer at once
	Healing                   // discovery: the target was in the history, not a bootstrap (¬boot, MS-17)
	Third                     // DiscoveryReply: no request was made for it
	Repair                    // Base: the history is part of it (MS-A9)
	Ask                       // Base: answer with yours
	Push                      // AttributeRequest: nothing newer needs no answer (MS-A20)
	More                      // another message goes on with this
	Later                     // this goes on with another message
	Brief                     // discovery: of the target alone, not of its view
	flagsEnd
)

var flagNames = []string{"signed", "echo", "healing", "third", "repair", "ask", "push", "more", "later", "brief"}

// String returns the names of the flags that are set.
func (f Flags) String() string {
	s := ""
	for i, name := range flagNames {
		if f>>i&1 != 0 {
			if s != "" {
				s += ","
			}
			s += name
		}
	}
	return s
}

// Roles are why a node wants a link.
type Roles uint8

// The roles.
const (
	Successor Roles = 1 << iota // the peer is one of its successors on the ring
	Random                      // the peer was drawn
	rolesEnd
)

// Reason is why a link is refused or dropped.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota
	Removed         // the peer was removed from the view: it may refute that and come back
	Redirect        // too many were drawn to this node: ask another one
	Busy            // too many neighbours
	NoLink          // there is none
	Unwanted        // the sender does not want the link; it stays if the peer does
	reasons
)

var reasonNames = [reasons]string{"none", "removed", "redirect", "busy", "no-link", "unwanted"}

// String returns the name of the reason.
func (r Reason) String() string { return name(reasonNames[:], int(r)) }

// Ref stands for a node in a table of ids, see [Names]. The zero value stands for none.
type Ref uint32

// Message is a message between nodes of a zone. It is not changed once it was
// sent, and its parts may be shared.
type Message struct {
	Kind         Kind    // decides which fields are used
	Flags        Flags   // see Flags
	Roles        Roles   // of the link that is asked for or accepted
	Reason       Reason  // of a refusal or a drop
	From         Ref     // the sender
	About        Ref     // another node
	Version      Version // the sender's
	AboutVersion Version // of About
	Hash         uint64  // over the members' ids and incarnations
	Tables       uint64  // over the versions of attribute tables
	Lists        *Lists  // nil where there are none
}

// Lists are the variable parts of a message. All may be empty.
type Lists struct {
	Leaves     []Departure    // processed first (MS-57)
	Alive      []Member       // members with their versions
	Suspicions []Suspicion    // of failures
	Silences   []Suspicion    // of nodes that were silent only: they have a grace to refute that
	Removed    []Member       // Repair: the history
	View       View           // instead of Alive, and with Repair of Removed; not in what arrives as bytes
	Tables     []TableVersion // versions of attribute tables
	Data       []TableData    // entries of attribute tables
}

// Member is a node and a version of it.
type Member struct {
	Node    Ref     // in the table of names
	Version Version // of the node
}

// Departure is a goodbye (MS-40).
type Departure struct {
	Node    Ref     // that said goodbye
	Version Version // its last one
	Code    int32   // exit code
}

// Suspicion is a report ⟨reporter, suspect, version⟩ (MS-A11).
type Suspicion struct {
	Reporter, Suspect Ref     // in the table of names
	Version           Version // the suspect's, as the reporter knows it
}

// TableVersion says how recent a copy of the attributes of a node is.
type TableVersion struct {
	Owner Ref    // the node whose attributes they are
	Inc   uint64 // the owner's incarnation (MS-A17)
	U     uint64 // version of the table, 0 if it is empty
}

// TableData are entries of an attribute table: all that are above From and not
// above To, in the order in which they were written (MS-A19). To 0 says that the
// sender has nothing newer than what was asked for (⟨p, ⊥⟩, MS-80).
type TableData struct {
	Owner    Ref         // the node whose attributes they are
	Inc      uint64      // the owner's incarnation
	From, To uint64      // versions of the table
	Last     bool        // what was asked for ends here
	Entries  []Attribute // in rising order of their versions
}

// Attribute is an entry of an attribute table.
type Attribute struct {
	Key     string // 1 to 255 bytes
	Value   []byte // nil with Deleted
	Deleted bool   // a death certificate (MS-89)
	U       uint64 // version of the table when it was written
}

// Size is what an attribute counts against Config.MaxAttributes, in bytes.
func (a *Attribute) Size() int { return attributeOverhead + len(a.Key) + len(a.Value) }
