package wire

import (
	"encoding/binary"
	"fmt"
)

// Seen is a message of a zone as a capture shows it. The observer is not a member of the zone,
// and knows only the ids that the message itself contains.
type Seen struct {
	Message        // the message; Name, ID and Short translate its Refs
	Zone    uint64 // the number of the zone, see [ZoneNumber]
	Sender  uint64 // the short form of the sender's id
	names   *seenNames
}

// ParseMessage parses a message. With the errors [ErrShort], [ErrMagic] and [ErrVersion] it
// returns nil; with other errors the header of the result is valid nevertheless. It does not
// check the authentication code.
func ParseMessage(b []byte) (*Seen, error) {
	if len(b) < HeaderSize {
		return nil, ErrShort
	}
	le := binary.LittleEndian
	s := &Seen{Zone: le.Uint64(b[8:]), Sender: le.Uint64(b[16:]), names: newSeenNames()}
	c := Codec{Names: s.names, Zone: s.Zone, observes: true}
	err := c.Parse(b, &s.Message, new(Lists))
	if s.Kind == 0 {
		return nil, err
	}
	return s, err
}

// Name returns the name of a node, or its short form if the message has only that.
func (s *Seen) Name(r Ref) string {
	if id := s.ID(r); id.IsValid() {
		return id.Name()
	}
	if int(r) < len(s.names.nodes) {
		return ShortName(s.Short(r))
	}
	return "?"
}

// ID returns the id of a node, the invalid one if the message does not have it.
func (s *Seen) ID(r Ref) ID { return s.names.ID(r) }

// IDs returns the ids that the message contains.
func (s *Seen) IDs() (list []ID) {
	for _, n := range s.names.nodes {
		if n.id.IsValid() {
			list = append(list, n.id)
		}
	}
	return list
}

// Short returns the short form of a node's id, 0 for Ref 0.
func (s *Seen) Short(r Ref) uint64 { return s.names.Short(r) }

// ShortName returns the short form of an id as text.
func ShortName(short uint64) string { return fmt.Sprintf("#%016x", short) }

// seenNames are the nodes that one message names.
type seenNames struct {
	nodes   []seenNode // nodes by Ref; element 0 stands for no node
	byShort map[uint64]Ref
}

type seenNode struct {
	id    ID
	short uint64
}

func newSeenNames() *seenNames {
	return &seenNames{nodes: make([]seenNode, 1), byShort: make(map[uint64]Ref)}
}

// node returns what is known of a node, the zero value for Ref 0.
func (n *seenNames) node(r Ref) seenNode {
	if int(r) >= len(n.nodes) {
		return seenNode{}
	}
	return n.nodes[r]
}

// ID implements [Names].
func (n *seenNames) ID(r Ref) ID { return n.node(r).id }

// Short implements [Names].
func (n *seenNames) Short(r Ref) uint64 { return n.node(r).short }

// Find implements [Names].
func (n *seenNames) Find(short uint64) Ref { return n.byShort[short] }

// Add implements [Names].
func (n *seenNames) Add(id ID) (Ref, error) {
	r, err := n.AddShort(id.Short())
	n.nodes[r].id = id
	return r, err
}

// AddShort implements [Names]. It needs no bound for the number of nodes, because a message has
// only a limited length.
func (n *seenNames) AddShort(short uint64) (Ref, error) {
	r, ok := n.byShort[short]
	if !ok {
		r = Ref(len(n.nodes))
		n.nodes = append(n.nodes, seenNode{short: short})
		n.byShort[short] = r
	}
	return r, nil
}
