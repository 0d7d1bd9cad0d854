package wire

// Kind tells messages apart.
type Kind uint8

// The kinds of messages, and which fields of [Message] they use besides From and
// Version.
const (
	Heartbeat        Kind = 1 + iota // to neighbours: Hash, Tables; Echo asks for a heartbeat in return
	LinkRequest                      // asks the receiver to be a neighbour: Roles; has the sender's id in full
	LinkAccept                       // answer to LinkRequest; Roles: what the sender itself wants the link for
	LinkRefuse                       // answer to LinkRequest: Reason; with Removed, About is the receiver, and AboutVersion the version that was removed; with Redirect, About is a node to ask instead
	LinkDrop                         // has the Reason NoLink or Unwanted
	Base                             // the whole view and all suspicions, to a new neighbour; with the flag Repair also the history; the flag Ask asks for the receiver's view
	Update                           // has the changes since the last update
	DiscoveryRequest                 // asks for the members; has the sender's id in full
	DiscoveryReply                   // the whole view; the flag Third marks an answer to a DiscoveryReply
	AttributeDigest                  // has Lists.Tables: versions of attribute tables
	AttributeRequest                 // Lists.Tables: what the sender has; with the flag Push the receiver answers only if it has more
	AttributeData                    // has Lists.Data
	Notice                           // has Lists.Suspicions: sent at once to monitors (MS-60)
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
func (k Kind) HasLists() bool { return k.HasMembers() || k.tables() || k == AttributeData }

// HasMembers reports whether messages of a kind consist of lists of members.
func (k Kind) HasMembers() bool {
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
	Signed  Flags = 1 << iota // the message ends with an authentication code made with the cluster's key
	Echo                      // in Heartbeat: the receiver answers at once
	Healing                   // discovery: the target comes from the history of the sender and is not a bootstrap node (¬boot, MS-17)
	Third                     // in DiscoveryReply: it answers a reply, not a request
	Repair                    // in Base: the history is part of it (MS-A9)
	Ask                       // in Base: the receiver answers with its own view
	Push                      // in AttributeRequest: the receiver answers only if it has newer entries (MS-A20)
	More                      // another message continues this one
	Later                     // this message continues another one
	Brief                     // in discovery: the message is about the target alone, and brings no view
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
	Successor Roles = 1 << iota // the peer is one of the node's successors on the ring
	Random                      // the node drew the peer at random
	rolesEnd
)

// Reason is why a link is refused or dropped.
type Reason uint8

// The reasons.
const (
	noReason Reason = iota
	Removed         // the receiver was removed from the view: it may refute that and come back
	Redirect        // too many nodes have drawn the sender: About is another node to ask
	Busy            // the sender has too many neighbours
	NoLink          // the sender has no link with the receiver
	Unwanted        // the sender does not want the link any more; the link stays if the receiver wants it
	reasons
)

var reasonNames = [reasons]string{"none", "removed", "redirect", "busy", "no-link", "unwanted"}

// String returns the name of the reason.
func (r Reason) String() string { return name(reasonNames[:], int(r)) }

// Ref stands for a node in a table of ids, see [Names]. The zero value stands for none.
type Ref uint32

// Message is a message between nodes of a zone. It must not be changed once it is sent.
// Messages may share parts of their memory.
type Message struct {
	Kind         Kind    // decides which fields are used
	Flags        Flags   // see Flags
	Roles        Roles   // roles of the link that is requested or accepted
	Reason       Reason  // reason of a refusal or of a LinkDrop
	From         Ref     // number of the sender in the table of names
	About        Ref     // the node that the message is about, if it is about another one
	Version      Version // Version of the sender: incarnation and minor number
	AboutVersion Version // version of About
	Hash         uint64  // hash of the members' ids and incarnations
	Tables       uint64  // hash of the versions of attribute tables
	Lists        *Lists  // nil if the message has no lists
}

// Lists are the variable parts of a message. Any of them may be empty.
type Lists struct {
	Leaves     []Departure    // goodbyes; the receiver processes them first (MS-57)
	Alive      []Member       // members with their versions
	Suspicions []Suspicion    // reports of failures
	Silences   []Suspicion    // reports that a node was only silent; the node has a grace period to refute them
	Removed    []Member       // the history, with Repair
	View       View           // replaces Alive, and with Repair also Removed; nil in a message parsed from bytes
	Tables     []TableVersion // versions of attribute tables
	Data       []TableData    // entries of attribute tables
}

// Member is a node and a version of it.
type Member struct {
	Node    Ref     // number of the node in the table of names
	Version Version // version of the node
}

// Departure is a goodbye (MS-40).
type Departure struct {
	Node    Ref     // the node that said goodbye
	Version Version // the node's last version
	Code    int32   // exit code that the node gave
}

// Suspicion is a report ⟨reporter, suspect, version⟩ (MS-A11).
type Suspicion struct {
	Reporter, Suspect Ref     // numbers of both nodes in the table of names
	Version           Version // the version of the suspect that the reporter knows
}

// TableVersion is the version of a copy of a node's attribute table.
type TableVersion struct {
	Owner Ref    // the node whose attributes they are
	Inc   uint64 // the owner's incarnation (MS-A17)
	U     uint64 // version of the table, 0 if it is empty
}

// TableData are entries of an attribute table: all entries above From and not above To, in the
// order in which they were written (MS-A19). To 0 means that the sender has nothing newer than
// the requested version (⟨p, ⊥⟩, MS-80).
type TableData struct {
	Owner    Ref         // the node whose attributes they are
	Inc      uint64      // the owner's incarnation
	From, To uint64      // first and last version of the table that Entries cover
	Last     bool        // no later message has more of the requested entries
	Entries  []Attribute // in ascending order of their versions
}

// Attribute is an entry of an attribute table.
type Attribute struct {
	Key     string // name of the attribute, 1 to 255 bytes
	Value   []byte // value of the attribute; nil with Deleted
	Deleted bool   // the entry is a death certificate: the key was deleted (MS-89)
	U       uint64 // version of the table after the attribute was written
}

// Size is what an attribute counts against Config.MaxAttributes, in bytes.
func (a *Attribute) Size() int { return attributeOverhead + len(a.Key) + len(a.Value) }
