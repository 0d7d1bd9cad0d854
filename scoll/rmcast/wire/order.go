package wire

import (
	"encoding/binary"

	"ulnet/lnet/nid"
)

// Sizes in bytes: of an order without lists, and of an entry of each list.
const (
	OrderSize    = 112
	MemberSize   = 32
	DepartedSize = 28
	// MaxMembers bounds a group, so that a list fits into one message.
	MaxMembers = 8192
)

// OrderKind is a kind of [Order].
type OrderKind uint8

// The kinds of orders. Members send Join, Report and Known to the manager.
const (
	OrderJoin     OrderKind = 1 + iota // asks to become a member
	OrderReport                        // the state of the sender: its newest list, and the oldest version that it uses
	OrderKnown                         // answers Collect or Canvass: the newest list that the sender knows
	OrderList                          // a list of members
	OrderState                         // the newest version that members may use, and the obsolete ones
	OrderCollect                       // a new manager asks what the receiver knows
	OrderExpelled                      // the receiver is not a member
	OrderRefused                       // a message was refused; with OrderReplica the receiver is a manager
	OrderCanvass                       // pre-vote: asks whether the sender may take over, and what the receiver knows
	lastOrder     = OrderCanvass
)

// OrderFlags are flags of an [Order].
type OrderFlags uint8

// The flags.
const (
	OrderLeaving    OrderFlags = 1 << iota // in Report and Known: the sender wants to leave
	OrderAsking                            // in a Report: the sender lacks a list and asks for it
	OrderReplica                           // List, State: for managers on standby, too; Refused: for a manager
	OrderTree                              // List: payload goes down the tree, because not all members have multicast
	OrderSigned                            // an authentication code ends the message; see [Unsigned]
	OrderVote                              // in Known: the sender answers Canvass, and promises nothing
	OrderDead                              // in Canvass: the manager of this epoch has died
	KnownOrderFlags = OrderLeaving | OrderAsking | OrderReplica | OrderTree | OrderVote | OrderDead
)

// Order is a message between members and managers:
//
//	  0  4  magic     "RMCM"
//	  4  2  version   of the protocol
//	  6  1  kind
//	  7  1  flags
//	  8  4  group
//	 12  4  you       List: communication number of the receiver; Refused: the [Refusal];
//	                  Known with OrderVote: 1 if the receiver may take over
//	 16  8  epoch     of the manager; from members: the highest they know
//	 24 16  version   of the list; Report: of the newest that is known
//	 40 16  usable    newest version that may be sent under
//	 56 16  oldest    from members: nothing below is in use; to them: versions below are obsolete
//	 72  8  incarnation      of the member; List and State: of the receiver
//	 80  4  MTU       Join: of a datagram's payload, 0 without multicast; List: bytes of a fragment
//	 84  4  capacity  Join: memory for waiting datagrams, in bytes; List: the least of all
//	 88  4  window    List: datagrams in flight of one origin; Known: the number of members, from
//	                  the first one on, that are on the list with this version
//	 92  4  next      List: the next communication number
//	 96  4  members
//	100  4  departed
//	104  4  voters    List, Known: members with lower numbers are the electorate: they were
//	                  on the latest list that all its members had
//	108  2  of        List, Known: size of the electorate without those known to have ended;
//	                  with OrderReplica: number of members that the manager hears
//	110  2  silent    List, Known: number of entries at the end of departed whose members were left
//	                  behind because they were silent, and may be alive: those of the electorate first
//	112     members: number, incarnation, NID; departed: incarnation, NID
type Order struct {
	Kind        OrderKind  // kind of message
	Flags       OrderFlags // details of Kind
	Group       GroupID    // number of the group
	You         uint32     // List: communication number of the receiver; see the table for others
	Epoch       uint64     // epoch of the manager; from members: the highest that they know
	Version     Version    // version of the list, or the newest version known
	Usable      Version    // newest version under which members may send
	Oldest      Version    // versions below this one are obsolete or not in use
	Incarnation uint64     // incarnation of the member
	MTU         uint32     // bytes of a datagram's payload, or of a fragment
	Capacity    uint32     // bytes of memory for datagrams that wait
	Window      uint32     // datagrams in flight of one origin; Known: see the table
	Next        uint32     // in List: next communication number to be assigned
	Voters      uint32     // List, Known: members with lower numbers are the electorate
	Of          uint16     // List, Known: size of the electorate; with OrderReplica: number of members heard
	Silent      uint16     // List, Known: number of Departed at its end that may be alive
	Members     []Member   // in List: members, ordered by number
	Departed    []ID       // members that have failed or left
}

// AppendTo appends the message.
func (o *Order) AppendTo(b []byte) []byte { return o.AppendLists(o.AppendHead(b)) }

// AppendHead appends the first OrderSize bytes of the message: all but the lists. These follow, see AppendLists.
func (o *Order) AppendHead(b []byte) []byte {
	le := binary.LittleEndian
	b = appendBegin(b, managerMagic, int(o.Kind)|int(o.Flags)<<8)
	b = le.AppendUint32(b, uint32(o.Group))
	b = le.AppendUint32(b, o.You)
	b = le.AppendUint64(b, o.Epoch)
	b = appendVersion(b, o.Version)
	b = appendVersion(b, o.Usable)
	b = appendVersion(b, o.Oldest)
	b = le.AppendUint64(b, o.Incarnation)
	b = le.AppendUint32(b, o.MTU)
	b = le.AppendUint32(b, o.Capacity)
	b = le.AppendUint32(b, o.Window)
	b = le.AppendUint32(b, o.Next)
	b = le.AppendUint32(b, uint32(len(o.Members)))
	b = le.AppendUint32(b, uint32(len(o.Departed)))
	b = le.AppendUint32(b, o.Voters)
	b = le.AppendUint16(b, o.Of)
	return le.AppendUint16(b, o.Silent)
}

// AppendLists appends the end of the message: Members and Departed.
func (o *Order) AppendLists(b []byte) []byte {
	for _, m := range o.Members {
		b = binary.LittleEndian.AppendUint32(b, m.Number)
		b = m.ID.AppendTo(b)
	}
	for _, id := range o.Departed {
		b = id.AppendTo(b)
	}
	return b
}

// AppendTo appends an ID in the form of lists: incarnation, then NID in LNet's extended form.
func (id ID) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, id.Incarnation)
	return id.NID.AppendExtended(b)
}

func parseID(b []byte) (id ID, err error) {
	id.Incarnation = binary.LittleEndian.Uint64(b)
	if id.NID, _, err = nid.ParseExtended(b[8:]); err != nil || !id.NID.IsValid() {
		return id, ErrHeader
	}
	return id, nil
}

// ParseOrder parses a message. It allocates the lists.
func ParseOrder(b []byte) (o Order, err error) {
	le := binary.LittleEndian
	kind, err := begin(b, managerMagic, OrderSize)
	if err != nil {
		return o, err
	}
	o.Kind, o.Flags = OrderKind(kind), OrderFlags(kind>>8)
	o.Group = GroupID(le.Uint32(b[8:]))
	o.You = le.Uint32(b[12:])
	o.Epoch = le.Uint64(b[16:])
	o.Version = parseVersion(b[24:])
	o.Usable = parseVersion(b[40:])
	o.Oldest = parseVersion(b[56:])
	o.Incarnation = le.Uint64(b[72:])
	o.MTU = le.Uint32(b[80:])
	o.Capacity = le.Uint32(b[84:])
	o.Window = le.Uint32(b[88:])
	o.Next = le.Uint32(b[92:])
	members, departed := le.Uint32(b[96:]), le.Uint32(b[100:])
	o.Voters = le.Uint32(b[104:])
	o.Of = le.Uint16(b[108:])
	o.Silent = le.Uint16(b[110:])
	if o.Kind == 0 || o.Kind > lastOrder || o.Flags&^KnownOrderFlags != 0 || uint32(o.Silent) > departed {
		return o, ErrHeader
	}
	if members > MaxMembers || departed > MaxMembers || len(b) != OrderSize+int(members)*MemberSize+int(departed)*DepartedSize {
		return o, ErrShort
	}
	return o, o.parseLists(b[OrderSize:], int(members), int(departed))
}

// Agrees reports whether the versions in a manager's message are possible: the list must be of
// the message's epoch, and the usable and oldest versions must not be later than the list's.
func (o *Order) Agrees() bool {
	return o.Version.Epoch == o.Epoch && o.Usable.Compare(o.Version) <= 0 && o.Oldest.Compare(o.Version) <= 0
}

func (o *Order) parseLists(b []byte, members, departed int) (err error) {
	if members+departed == 0 {
		return nil
	}
	o.Members, o.Departed = make([]Member, members), make([]ID, departed)
	for i := range o.Members {
		m := &o.Members[i]
		m.Number = binary.LittleEndian.Uint32(b)
		if m.ID, err = parseID(b[4:]); err != nil || o.Kind == OrderList && i > 0 && m.Number <= o.Members[i-1].Number {
			return ErrHeader
		}
		b = b[MemberSize:]
	}
	for i := range o.Departed {
		if o.Departed[i], err = parseID(b); err != nil {
			return err
		}
		b = b[DepartedSize:]
	}
	return nil
}
