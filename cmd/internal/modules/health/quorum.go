package health

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// QuorumLack is the reason why a server has no quorum, as a word.
type QuorumLack string

// The reasons for having no quorum.
const (
	LackGossip    QuorumLack = "no-gossip" // gossip does not run
	LackLeft      QuorumLack = "left"      // this node has left gossip: a list without it was committed here
	LackParams    QuorumLack = "excluded"  // gossip has given up: other nodes have other parameters
	LackListening QuorumLack = "listening" // gossip is silent in its first cycles, so that all nodes notice that this node was gone
	LackStarting  QuorumLack = "starting"  // gossip has run for fewer cycles than the news that a server is alive may need to arrive
	LackUnsure    QuorumLack = "unsure"    // gossip cannot judge: this process was paused, or gossip was restarted
	LackCutOff    QuorumLack = "cut-off"   // gossip reports half of the servers or more as dead
	LackNone      QuorumLack = "soon"      // most servers are alive, so the server role will have its quorum within a tick
)

// maxNotSeen bounds the servers in NoQuorum.NotSeen, and shownNotSeen those in its text.
const (
	maxNotSeen   = 256
	shownNotSeen = 8
)

// NoQuorum describes why a server has no quorum.
type NoQuorum struct {
	Why  QuorumLack `json:"why"`  // the reason, as one of the constants
	Text string     `json:"text"` // the reason and the remedy, for people to read
	// Cycle is the number of the present cycle of gossip, and Cycles the number of cycles to wait
	// for. Both are set while Why is LackListening or LackStarting.
	Cycle  uint64 `json:"cycle,omitempty"`
	Cycles int    `json:"cycles,omitempty"`  // how many cycles of gossip, from its start, this reason can last
	LeftMS int64  `json:"left_ms,omitempty"` // longest time for which this reason can still last
	// NotSeen are the first 256 servers that are not alive, ordered by NID.
	NotSeen []nid.NID `json:"not_seen,omitempty"`
}

// sight is what this server knows of the other servers, and the state of gossip, which reports them
// as alive or dead. It shows why there is no quorum.
type sight struct {
	gossip  *gossip.Status // state of gossip; nil: gossip does not run
	unsure  bool           // gossip cannot judge at present
	known   int            // number of all servers
	alive   int            // number of servers that are alive, this one included
	notSeen []nid.NID      // servers that are not alive
}

// noQuorum describes why there is no quorum.
func (s *sight) noQuorum() *NoQuorum {
	q := &NoQuorum{Why: s.lack(), NotSeen: s.notSeen[:min(len(s.notSeen), maxNotSeen)]}
	switch q.Why {
	case LackGossip:
		q.Text = "gossip does not run: 'gossipctl start' starts it"
	case LackLeft:
		q.Text = "this node has left gossip, a list without it was committed here, so its clients go to the others: to bring it back, commit a list with it there, then 'gossipctl init' and 'gossipctl start' here"
	case LackParams:
		q.Text = "gossip has given up, its parameters or its list are not those of the others: see 'gossipctl status'"
	case LackListening:
		q.begin(s.gossip, s.gossip.Limits.Stealth)
		q.Text = fmt.Sprintf("gossip still listens, and others rarely send to a node that says nothing: %s; %s", q.progress(), s.seen())
	case LackStarting:
		q.begin(s.gossip, s.gossip.Limits.Dead)
		q.Text = fmt.Sprintf("gossip has just begun: %s; %s", q.progress(), s.seen())
	case LackUnsure:
		q.Text = "gossip cannot judge for the moment, because this node stood still or gossip was started once more; " + s.seen()
	case LackNone:
		q.Text = "most servers are alive: within a tick"
	default:
		q.Text = "cut off: " + s.seen()
	}
	return q
}

// lack returns the reason. If gossip does not run, has been left or has given up, that comes before anything that gossip
// reports.
func (s *sight) lack() QuorumLack {
	switch {
	case s.gossip == nil:
		return LackGossip
	case s.gossip.Left:
		return LackLeft
	case s.gossip.Stopped:
		return LackParams
	case 2*s.alive > s.known:
		return LackNone
	case s.gossip.Silent:
		return LackListening
	case s.unsure:
		return LackUnsure
	case s.gossip.Cycle <= uint64(s.gossip.Limits.Dead):
		return LackStarting
	}
	return LackCutOff
}

// begin sets the progress of gossip in its first cycles.
func (q *NoQuorum) begin(s *gossip.Status, cycles int) {
	q.Cycle, q.Cycles = s.Cycle, cycles
	if left := cycles + 1 - int(min(s.Cycle, uint64(cycles))); left > 0 {
		q.LeftMS = (time.Duration(left) * s.Interval).Milliseconds()
	}
}

func (q *NoQuorum) progress() string {
	return fmt.Sprintf("cycle %d of its first %d, %v more at most", q.Cycle, q.Cycles, time.Duration(q.LeftMS)*time.Millisecond)
}

// seen returns a text with the number of live servers and the NIDs of the others.
func (s *sight) seen() string {
	text := fmt.Sprintf("sees %d of %d servers", s.alive, s.known)
	if len(s.notSeen) == 0 {
		return text
	}
	var names []string
	for _, id := range s.notSeen[:min(len(s.notSeen), shownNotSeen)] {
		names = append(names, id.String())
	}
	text += ", not " + strings.Join(names, " ")
	if more := len(s.notSeen) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// sight returns what this server knows of the others now. The caller does not hold h.mu.
func (h *roles) sight() *sight {
	s := &sight{unsure: h.view.Unsure()}
	if _, agent := h.m.gossip.Now(); agent != nil {
		snapshot := agent.Status()
		s.gossip = &snapshot
	}
	s.alive, s.known = h.view.Counts()
	h.mu.Lock()
	servers := h.servers
	h.mu.Unlock()
	for _, id := range servers {
		if alive, _ := h.view.Alive(id); !alive && !h.view.self(id) {
			s.notSeen = append(s.notSeen, id)
		}
	}
	return s
}

// lackEvery is the interval in which the log repeats why there is no quorum.
const lackEvery = time.Minute

// lackLog limits the log lines about the missing quorum: a new reason is logged at once, the same one
// again after lackEvery.
type lackLog struct {
	why QuorumLack // the reason logged last; "": there is a quorum
	at  time.Duration
}

// tells reports whether the reason must be logged now. If why is "", there is no reason, because
// there is a quorum.
func (l *lackLog) tells(why QuorumLack, now time.Duration) bool {
	tells := why != "" && (why != l.why || now >= l.at+lackEvery)
	if l.why = why; tells {
		l.at = now
	}
	return tells
}

// failed reports whether a role could not be started; that is in the log already.
func (h *roles) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure != ""
}

// logLack logs why this server has no quorum.
func (h *roles) logLack() {
	server, _ := h.roles()
	if !h.cfg.Server || server == nil && h.failed() || server != nil && server.Quorum() {
		h.lacks.tells("", 0)
		return
	}
	q := h.sight().noQuorum()
	if !h.lacks.tells(q.Why, h.m.Clock.Now()) {
		return
	}
	level := slog.LevelWarn
	if q.Why == LackListening || q.Why == LackStarting || q.Why == LackNone {
		level = slog.LevelInfo // after a start, it is normal that there is no quorum
	}
	h.log.Log(context.Background(), level, "this server has no quorum, and takes no clients", slog.String("why", string(q.Why)), slog.String("reason", q.Text))
}
