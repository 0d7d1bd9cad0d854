package sim

// flight is a message on its way, or a Refused, Reset or Command, which reaches a node as a message
// does.
type flight[M any] struct {
	delay int64 // latency that is still to come, in ns
	msg   M
	from  NodeID
	to    NodeID
	size  int32
	next  int32 // index of the flight behind this one in the receiver's queue, or of the next free flight
	// incarnation is the incarnation of the sender. In a Refused, Reset or Command it is that of the
	// receiver: if another incarnation runs on arrival, it does not get the flight.
	incarnation uint32
	kind        Kind
	hop         int8 // number of hops that the flight has passed
	flags       flightFlags
}

type flightFlags uint8

const (
	flightPriority flightFlags = 1 << iota
	flightCopy                 // the flight is the second copy of a duplicate
)

// flightBits is the base-2 logarithm of the number of flights that are allocated at a time.
const flightBits = 10

// flights allocates values of type flight, and reuses those that were freed. It does not shrink.
type flights[M any] struct {
	chunks []*[1 << flightBits]flight[M]
	free   int32 // index of the first unused flight; -1: none
}

func (s *flights[M]) at(i int32) *flight[M] {
	return &s.chunks[i>>flightBits][i&(1<<flightBits-1)]
}

// take returns a free flight. It resets next, delay, hop and flags; the other fields have the
// values of its last use, or zero.
func (s *flights[M]) take() (int32, *flight[M]) {
	if s.free < 0 {
		s.grow()
	}
	i := s.free
	f := s.at(i)
	s.free = f.next
	f.next, f.delay, f.hop, f.flags = -1, 0, 0, 0
	return i, f
}

func (s *flights[M]) grow() {
	first := int32(len(s.chunks)) << flightBits
	s.chunks = append(s.chunks, new([1 << flightBits]flight[M]))
	for i := first + 1<<flightBits - 1; i >= first; i-- {
		s.at(i).next, s.free = s.free, i
	}
}

// release makes a flight unused.
func (s *flights[M]) release(i int32) {
	f := s.at(i)
	var none M
	f.msg = none // the flight must not keep alive the memory to which the message refers
	f.next, s.free = s.free, i
}
