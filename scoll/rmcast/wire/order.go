package wire

import (
	"encoding/binary"

	"ulnet/lnet/nid"
)

// Sizes in bytes: of an order without lists, and of what lists have.
const (
	OrderSize    = 112
	MemberSize   = 32
	DepartedSize = 28
	// MaxMembers bounds a group, so that a list is one message.
	MaxMembers = 8192
)

// OrderKind tells messages between members and the manager apart.
type OrderKind uint8

// The kinds of orders. Join, Report and Known go to the manager.
const (
	OrderJoin     OrderKind = 1 + iota // let me take part
	OrderReport                        // what I know, and use
	OrderKnown                         // the newest list that I know, for a new manager
	OrderList                          // a list of members
	OrderState                         // which version may be used, and which forgotten
	OrderCollect                       // from a new manager: what do you know?
	OrderExpelled                      // you are no member
	OrderRefused                       // what you said is refused; with OrderReplica it is for a manager
	OrderCanvass                       // from a manager that would take over: may I, and what do you know?
	LastOrder     = OrderCanvass
)

// OrderFlags qualify an order.
type OrderFlags uint8

// The flags.
const (
	OrderLeaving    OrderFlags = 1 << iota // Report, Known: the sender wants to leave
	OrderAsking                            // Report: send me the list that I lack
	OrderReplica                           // List, State: for a manager that waits its turn, too; Refused: for a manager
	OrderTree                              // List: payload goes down the tree, not everybody can multicast
	OrderSigned                            // a code ends the message; see [Unsigned]
	OrderVote                              // Known: answers Canvass, and promises nothing
	OrderDead                              // Canvass: the manager of this epoch is dead
	KnownOrderFlags = OrderLeaving | OrderAsking | OrderReplica | OrderTree | OrderVote | OrderDead
)

// Order is a message between members and the manager:
//
//	  0  4  magic     "RMCM"
//	  4  2  version   of the protocol
//	  6  1  kind
//	  7  1  flags
//	  8  4  group
//	 12  4  you       List: the communication number of whom it is for; Refused: the [Refusal];
//	                  Known with OrderVote: 1 if the receiver may take over
//	 16  8  epoch     of the manager; from members: the highest they know
//	 24 16  version   of the list; Report: of the newest that is known
//	 40 16  usable    what may be sent under
//	 56 16  oldest    from members: nothing below is in use; to them: forget what is below
//	 72  8  incarnation      of the member; List and State: of whom it is for
//	 80  4  MTU       Join: of a datagram's payload, 0 without multicast; List: bytes of a fragment
//	 84  4  capacity  Join: bytes of datagrams that wait at the receiver; List: the least of all
//	 88  4  window    List: datagrams in flight of one origin; Known: how many of the members,
//	                  the first ones, are on the list with this version
//	 92  4  next      List: the next communication number
//	 96  4  members
//	100  4  departed
//	104  4  voters    List, Known: members with lower numbers were on the list that all had before
//	108  2  of        List, Known: how many were, without those that are known to have ended;
//	                  with OrderReplica: how many members the manager hears
//	110  2  silent    List, Known: so many of the departed, the last ones, were on the list that
//	                  all had before, and were left behind as they were silent: they may live
//	112     members: number, incarnation, NID; departed: incarnation, NID
type Order struct {
	Kind        OrderKind
	Flags       OrderFlags
	Group       GroupID
	You         uint32
	Epoch       uint64
	Version     Version
	Usable      Version
	Oldest      Version
	Incarnation uint64
	MTU         uint32
	Capacity    uint32
	Window      uint32
	Next        uint32
	Voters      uint32
	Of          uint16
	Silent      uint16
	Members     []Member // List: ascending numbers
	Departed    []ID
}

// AppendTo appends the message.
func (o *Order) AppendTo(b []byte) []byte {
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
	b = le.AppendUint16(b, o.Silent)
	for _, m := range o.Members {
		b = le.AppendUint32(b, m.Number)
		b = m.ID.AppendTo(b)
	}
	for _, id := range o.Departed {
		b = id.AppendTo(b)
	}
	return b
}

// AppendTo appends the form of an ID in lists: incarnation, then NID in LNet's extended form.
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
	if o.Kind == 0 || o.Kind > LastOrder || o.Flags&^KnownOrderFlags != 0 || uint32(o.Silent) > departed {
		return o, ErrHeader
	}
	if members > MaxMembers || departed > MaxMembers || len(b) != OrderSize+int(members)*MemberSize+int(departed)*DepartedSize {
		return o, ErrShort
	}
	return o, o.parseLists(b[OrderSize:], int(members), int(departed))
}

// Agrees reports whether what a manager says of versions can be: they are of its epoch,
// and those that may be used or forgotten are not later than its latest.
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
