package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// state is the state of a connection. Transitions:
//
//	            connect           saved
//	(none)     ---------> saving ------> connected
//	connected  -- master died, or does not know the client --> orphaned
//	orphaned   -- the client chooses a master --> connected
//	orphaned   -- T_orphan is over --> (none)
//	connected  -- this server is the master, and the client is silent or has rebooted,
//	              or an administrator orders its eviction --> evicting
//	evicting   -- all live servers answered --> (none), or connected if another is the master
//	(restart)  --> recovering
//	recovering -- the master or the client confirms the connection --> connected
//	recovering -- the master died, or does not know the client --> orphaned
//	recovering -- T_orphan is over --> (none)
type state uint8

const (
	free state = iota
	saving
	connected
	orphaned
	recovering
	evicting
)

var stateNames = [...]string{"free", "saving", "connected", "orphaned", "recovering", "evicting"}

func (s state) String() string { return name(stateNames[:], uint64(s)) }

// conn is the connection of a client. There are very many of them.
type conn struct {
	id          wire.ClientID
	incarnation uint64
	peer        nid.ProcessID
	// seen is when the last message of the client's node was received. In the states orphaned and
	// recovering, seen is the time when the state began. It is in active time, like the field due.
	seen     time.Duration
	said     time.Duration // active time of the client's last message of client health; the first Ask sets it back to T_evict ago, so that the client has T_evict to answer
	carrier  uint64        // incarnation of the NI that sent the client's last message of client health
	due      time.Duration
	sequence uint64 // while the record is being saved: sequence number of the message to answer; then: of the latest connect or choice of a master. A disconnect with a lower number is ignored
	name     string
	epoch    uint32
	gen      uint32 // generation: tells successive connections in one slot apart
	master   int32
	previous int32 // master of the previous incarnation
	pos      int32 // position in the heap of deadlines
	state    state
	look     look // whether the client is a suspect: then it is in evictions.suspects
	asked    bool // if this server is the master: the client has not answered an Ask yet; if another one is: the next digest to that master asks about the client
	waited   bool // the client's connect had to wait, so the client may be gone by now
}

// Connections are in blocks that never move, so that a table can grow without copying them and
// without much unused memory.
const blockSize = 512

type table struct {
	index  map[wire.ClientID]int32
	byNID  byNID
	blocks [][]conn
	spare  []int32
	count  int
	unsure int // number of connections in the state recovering
}

func (t *table) init() {
	t.index = make(map[wire.ClientID]int32)
	t.byNID.init()
}

func (s *Server) conn(i int32) *conn { return &s.table.blocks[i/blockSize][i%blockSize] }

// find returns the slot of a client's connection.
func (s *Server) find(id wire.ClientID) (int32, bool) {
	i, ok := s.table.index[id]
	return i, ok
}

// incarnation returns the incarnation in which a client is connected, or 0.
func (s *Server) incarnation(id wire.ClientID) uint64 {
	if i, ok := s.find(id); ok {
		return s.conn(i).incarnation
	}
	return 0
}

// add creates a connection.
func (s *Server) add(id wire.ClientID, peer nid.ProcessID) int32 {
	t := &s.table
	if len(t.spare) == 0 {
		base := int32(len(t.blocks) * blockSize)
		t.blocks = append(t.blocks, make([]conn, blockSize))
		t.byNID.chains = append(t.byNID.chains, make([]int32, blockSize))
		for i := int32(blockSize) - 1; i >= 0; i-- {
			t.spare = append(t.spare, base+i)
		}
	}
	i := t.spare[len(t.spare)-1]
	t.spare = t.spare[:len(t.spare)-1]
	c := s.conn(i)
	*c = conn{id: id, peer: peer, gen: c.gen + 1, pos: noSlot, previous: noSlot}
	t.index[id] = i
	t.count++
	s.link(i)
	return i
}

// drop removes a connection.
func (s *Server) drop(i int32) {
	s.unset(i)
	s.unlink(i)
	c := s.conn(i)
	s.become(c, free)
	delete(s.table.index, c.id)
	delete(s.evictions.rivals, c.id)
	s.takeovers.grant(s, c.id)
	*c = conn{gen: c.gen, pos: noSlot}
	s.table.spare = append(s.table.spare, i)
	s.table.count--
}

// become changes the state of a connection.
func (s *Server) become(c *conn, to state) {
	if c.state == recovering {
		s.table.unsure--
	}
	if to == recovering {
		s.table.unsure++
	}
	c.state = to
}

// saveID returns the number that identifies a connection in DoSave, made of its slot and
// generation.
func saveID(i int32, c *conn) uint64 { return uint64(i+1)<<32 | uint64(c.gen) }

// each calls f for every connection, in the order of slots. The function f may drop the
// connection.
func (s *Server) each(f func(i int32, c *conn)) {
	for b := range s.table.blocks {
		for k := range s.table.blocks[b] {
			if c := &s.table.blocks[b][k]; c.state != free {
				f(int32(b*blockSize+k), c)
			}
		}
	}
}

// ours reports whether this server is the master of a connection.
func (s *Server) ours(c *conn) bool { return c.master == s.members.self }

// watch starts the deadline of a client if this server is its master, and stops it otherwise.
func (s *Server) watch(i int32, c *conn) {
	c.asked = false
	if !s.ours(c) {
		s.unset(i)
		return
	}
	c.seen, c.said = s.now, s.now
	s.set(i, s.now+s.cfg.Evict)
}

// save writes the present state of a connection to its record.
func (s *Server) save(id uint64, c *conn) {
	s.emit(ServerEffect{Kind: DoSave, ID: id, Record: &Record{
		Client: c.id, Incarnation: c.incarnation, Master: s.members.nid(c.master), Epoch: c.epoch, Peer: c.peer, Name: c.name,
	}})
}

// end ends a connection, reports that, and removes its record. If bury is set, end adds a
// tombstone, which keeps the incarnation from connecting again.
func (s *Server) end(i int32, cause wire.Cause, bury bool) {
	s.finally(i, s.conn(i).incarnation, 0, cause, bury)
}

// finally ends a connection as end does. If bury is set, its tombstone is for all incarnations up to the
// given one, and for the choice of a master with the given epoch. The incarnation may be later than the
// connected one, because a connect of the later incarnation may be on its way (CH-A20).
func (s *Server) finally(i int32, incarnation uint64, epoch uint32, cause wire.Cause, bury bool) {
	c := s.conn(i)
	s.stats.Ended[cause]++
	if c.state != saving {
		s.tell(ClientEvicted, c, cause)
	}
	s.forget(c.id, incarnation, epoch, bury, c.peer.NID)
	if bury {
		s.tombstones.know(c, incarnation, cause)
	}
	s.drop(i)
}

// forget removes the record of a client and, if bury is set, adds a tombstone. The caller adds the
// epoch to the tombstone in memory. The client's NID is in the parameter named of; it is zero if it
// is not known.
func (s *Server) forget(id wire.ClientID, incarnation uint64, epoch uint32, bury bool, of nid.NID) {
	e := ServerEffect{Kind: DoRemove, Client: id, Incarnation: incarnation, Epoch: epoch}
	if bury {
		e.For = s.cfg.tombstone()
		s.stats.Forgotten += s.tombstones.bury(id, incarnation, s.now+e.For, of, s.incarnation(id))
	}
	s.emit(e)
}
