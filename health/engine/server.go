package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// ServerConfig configures a [Server]. The zero value of a field means its
// default.
type ServerConfig struct {
	// Self is this server's NID. Required.
	Self nid.NID
	// PID is the PID of all servers. Default nid.LustrePID.
	PID nid.PID
	// Incarnation is the number of this incarnation of the server: the wall clock in nanoseconds at
	// its start, or more, and higher than those of earlier incarnations. The server refuses clients
	// whose incarnation number is more than a year ahead of its own. Required.
	Incarnation uint64
	// Servers are all servers of the cluster, this one included. Required.
	Servers []nid.NID
	Timing
	// ClaimKeys, if there are any, are the keys with which a master signs the statement that it
	// is the client's master. The client shows that signature to other servers when it names
	// its master (CH-44). All servers have the same keys.
	ClaimKeys keyring.Keys
	// Keys, if there are any, verify connect requests: the client must have signed the request with
	// one of them. Clients and servers have the same keys.
	Keys keyring.Keys
	// MaxClients bounds the number of connections. Default 200 000.
	MaxClients int
	// MaxIDs bounds the clients that one NID may have. MaxUserIDs bounds those of the NID's user
	// processes, whose PIDs have the bit nid.UserPID. Defaults 4 and 64.
	MaxIDs, MaxUserIDs int
	// MaxTombstones bounds the number of evictions that are remembered. When the bound is reached,
	// the clients of one NID keep at most a sixteenth of them. Default 1 000 000.
	MaxTombstones int
	// MaxBroadcasts bounds the number of broadcasts that are under way. Default 8.
	MaxBroadcasts int
	// MaxIncarnations is how many incarnations of one client are accepted in FlapWindow.
	// Default 10.
	MaxIncarnations int
	FlapWindow      time.Duration // see MaxIncarnations; 0: 10 s
	// Uneven turns load balancing off. This server does not ask its clients to choose a server
	// that has far fewer clients, and it sends no digests merely to report its load.
	Uneven bool
}

// Server is the machine of one server, which watches over clients. See machine.Machine.
type Server struct {
	cfg        ServerConfig
	members    members
	table      table
	deadlines  deadlines
	tombstones tombstones
	waiting    waiting
	takeovers  takeovers
	evictions  evictions
	quorum     quorum
	pauses     pauses
	flaps      flaps
	drain      drain
	unsaved    unsaved
	digests    digests
	balance    balance
	catchup    catchup
	stats      ServerStats
	ring       *keyring.Ring // nil without keys
	claims     claims

	tick    time.Duration // active time at which the next tick is due
	started bool
	began   time.Duration // active time of the server's first step
	out     *ServerOutput // output of the current step
	now     time.Duration // active time of the current step
}

var _ machine.Machine[ServerInput, ServerOutput] = (*Server)(nil)

// NewServer returns a machine. The error is an *[Error].
func NewServer(cfg ServerConfig) (*Server, error) {
	var err error
	if cfg.Timing, err = cfg.Timing.Filled(); err != nil {
		return nil, err
	}
	if !slices.Contains(cfg.Servers, cfg.Self) {
		return nil, &Error{Why: "this server, " + cfg.Self.String() + ", is not among the servers: add it to the list"}
	}
	if cfg.PID == 0 {
		cfg.PID = nid.LustrePID
	}
	cfg.MaxClients = cmp.Or(cfg.MaxClients, 200_000)
	cfg.MaxIDs = cmp.Or(cfg.MaxIDs, 4)
	cfg.MaxUserIDs = cmp.Or(cfg.MaxUserIDs, 64)
	cfg.MaxTombstones = cmp.Or(cfg.MaxTombstones, 1_000_000)
	cfg.MaxBroadcasts = cmp.Or(cfg.MaxBroadcasts, 8)
	cfg.MaxIncarnations = cmp.Or(cfg.MaxIncarnations, 10)
	cfg.FlapWindow = cmp.Or(cfg.FlapWindow, 10*time.Second)
	s := &Server{cfg: cfg, ring: cfg.Keys.Ring(keyLabel), claims: cfg.ClaimKeys.All()}
	s.members.init(cfg.Self)
	s.members.set(cfg.Servers)
	s.table.init()
	s.tombstones.init(cfg.MaxTombstones)
	s.waiting.init()
	s.takeovers.init()
	s.flaps.init()
	s.pauses.init(cfg.Tick)
	return s, nil
}

// Step implements machine.Machine.
func (s *Server) Step(now time.Duration, in ServerInput, out *ServerOutput) (wake time.Duration) {
	s.out = out
	var missed time.Duration
	s.now, missed = s.pauses.enter(now)
	if s.stats.Paused += missed; missed > 0 {
		s.quorum.resumed(s)
	}
	if !s.started {
		s.started, s.began = true, s.now
		s.tick = s.now + s.cfg.Tick
		s.digests.next = s.now + s.cfg.Evict
		s.quorum.begin(s)
	}
	s.apply(&in)
	s.expire()
	s.out = nil
	return s.pauses.leave(now, s.next())
}

func (s *Server) apply(in *ServerInput) {
	switch in.Kind {
	case ServerTimer:
	case Arrived:
		s.arrived(in)
	case Seen:
		s.seen(in)
	case ServerHealth:
		s.serverHealth(in)
	case QuorumIs:
		s.quorum.is(s, in.Alive, in.Unsure)
	case Saved:
		s.saved(in)
	case BroadcastDone:
		s.broadcastDone(in)
	case EvictArrived:
		s.evictArrived(in)
	case Restore:
		s.restore(in.Record)
	case RestoreTombstone:
		s.restoreTombstone(in)
	case EvictClient:
		s.evictClient(in)
	case Drain:
		s.drain.set(s, in.Alive, in.Count)
	case SetServers:
		s.members.set(in.Servers)
		for i := range s.members.list {
			if !s.members.list[i].listed {
				s.orphanAll(int32(i))
			}
		}
	}
}

// expire handles all deadlines that have passed.
func (s *Server) expire() {
	s.quorum.judge(s)
	for len(s.deadlines.heap) > 0 {
		i := s.deadlines.heap[0]
		if s.conn(i).due > s.now {
			break
		}
		s.due(i)
	}
	if s.now >= s.tick {
		s.tick = s.now + s.cfg.Tick
		s.ticked()
	}
	s.takeovers.run(s)
	s.evictions.takeBack(s)
	s.evictions.run(s)
}

// ticked does the work that is due once per tick.
func (s *Server) ticked() {
	s.evictions.flush(s)
	s.evictions.retry(s)
	s.waiting.expire(s)
	s.tombstones.expire(s.now)
	s.flaps.expire(s)
	s.drain.remind(s)
	s.digests.send(s)
	s.catchup.run(s)
	s.unsaved.run(s)
	s.balance.run(s)
}

// next returns when the server wants to be woken next, in active time (see pauses). A server that
// has clients asks to be woken in each tick, so that it notices pauses.
func (s *Server) next() time.Duration {
	at := min(s.quorum.next(s), s.takeovers.next)
	if len(s.deadlines.heap) > 0 {
		at = min(at, s.conn(s.deadlines.heap[0]).due)
	}
	if s.unsaved.on || s.unsaved.told || s.catchup.pending(s) || s.quorum.have && len(s.evictions.givenUp) > 0 || s.table.count > 0 || len(s.evictions.batches) > 0 || len(s.tombstones.queue) > 0 || len(s.flaps.incarnations) > 0 {
		at = min(at, s.tick)
	}
	return at
}

// emit appends an effect.
func (s *Server) emit(e ServerEffect) { s.out.Effects = append(s.out.Effects, e) }

// send sends a message.
func (s *Server) send(to nid.ProcessID, m *wire.Message) {
	m.ServerIncarnation = s.cfg.Incarnation
	begin := len(s.out.Buf)
	s.out.Buf = m.AppendTo(s.out.Buf)
	s.stats.Sent++
	e := ServerEffect{Kind: DoSend, To: to, Begin: begin, End: len(s.out.Buf)}
	if m.Kind.BetweenServers() {
		e.Server = to.NID
	}
	s.emit(e)
}

// tell reports an event of a connection.
func (s *Server) tell(kind EventKind, c *conn, cause wire.Cause) {
	s.emit(ServerEffect{Kind: DoTell, Event: Event{
		Kind: kind, Cause: cause, Epoch: c.epoch, Client: c.id, Incarnation: c.incarnation, Name: c.name,
		Master: s.members.nid(c.master), Peer: c.peer,
	}})
}
