package engine

import (
	"cmp"
	"slices"
	"strings"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// session is the session of the console.
type session struct {
	id       wire.Session
	name     string
	key      uint32
	features wire.Features
	fixed    bool // a node has joined with the features, which therefore do not change any more
	force    bool // the console asks nodes to give up the session of another console when they join
	timeout  time.Duration
	idle     deadline // idle timer: the session ends when it expires
	ping     deadline // when the console looks for silent nodes next
	ending   bool
	nodes    []*node // nodes of the session, in the order in which they became known
	byID     map[nid.ProcessID]*node
	groups   []*group
	members  int // number of members of all groups
	joined   int // number of nodes that have joined by themselves
	batches  []*batch
	tests    int // number of tests of all batches
}

// Session describes the session of a console.
type Session struct {
	Name     string        `json:"name"`     // name of the session
	ID       wire.Session  `json:"id"`       // id of the session, which nodes compare
	Key      uint32        `json:"key"`      // the key that commands need
	Features wire.Features `json:"features"` // features of the session
	Timeout  time.Duration `json:"timeout"`  // the session ends after this time without a command
	Nodes    Counts        `json:"nodes"`    // number of nodes by state
}

// NewSession makes a session. With Force it first ends an earlier session of this console, whose
// nodes are asked to leave; otherwise it sends nothing.
type NewSession struct {
	Key      uint32        // the key that further commands need, for example the PID of the user's shell
	Name     string        // name of the session, 1 to 31 bytes
	Timeout  time.Duration // the session ends after this time without a command; at least 1 s; 0: 300 s
	Force    bool          // end an earlier session of this console, and take nodes from other consoles
	Features wire.Features // features of the session, usually wire.KnownFeatures

	console nid.NID // NID of this node, which becomes the Console of the session's id
}

func (n *NewSession) begin(c *Console, o *operation) error {
	old := c.session
	switch {
	case n.Features&^wire.KnownFeatures != 0:
		return fail(syscall.EINVAL, "use 1", "features %#x are not known", uint32(n.Features))
	case n.Timeout != 0 && (n.Timeout < time.Second || n.Timeout > mostIdle*time.Second):
		return fail(syscall.EINVAL, "use 1 s to 2147483647 s", "%v is no time-out", n.Timeout)
	case !n.console.IsValid() || !n.console.Is4() || n.console.IsLo():
		return fail(syscall.EADDRNOTAVAIL, "give this node a NID with an IPv4 address", "the id of a session has no place for the NIDs of this node")
	case old != nil && old.ending:
		return errEnding()
	case old != nil && !n.Force && old.key == n.Key:
		return fail(syscall.EOPNOTSUPP, "end it first, or use force", "session %s exists already", old.name)
	case old != nil && !n.Force:
		return fail(syscall.EEXIST, "wait for its end, or end it by force", "session %s of another key exists already", old.name)
	}
	if err := checkName("session", n.Name); err != nil {
		return err
	}
	if old == nil {
		n.create(c, o)
		return nil
	}
	c.end(o, func() { n.create(c, o) })
	return nil
}

// create makes the session. There is no other one.
func (n *NewSession) create(c *Console, o *operation) {
	o.result.Answers = nil
	if o.stopped != 0 {
		c.finish(o, nil)
		return
	}
	c.stamp = max(c.stamp+1, c.cfg.FirstStamp+c.now.Milliseconds())
	s := &session{
		id: wire.Session{Console: n.console, Stamp: c.stamp}, name: n.Name, key: n.Key, features: n.Features, force: n.Force,
		timeout: cmp.Or(n.Timeout, idleTimeout), byID: map[nid.ProcessID]*node{},
	}
	c.session = s
	s.addBatch(c, defaultBatch)
	c.after(&s.ping, pingInterval, func() { c.pingSilent(s) })
	o.result.Session = s.describe()
	c.finish(o, nil)
}

func (s *session) describe() Session {
	return Session{Name: s.name, ID: s.id, Key: s.key, Features: s.features, Timeout: s.timeout, Nodes: countsOf(s.nodes)}
}

// EndSession ends the session: its nodes leave it, and end its tests.
type EndSession struct {
	Key uint32 // key of the session
}

func (e *EndSession) begin(c *Console, o *operation) error {
	if _, err := c.current(e.Key); err != nil {
		return err
	}
	c.end(o, func() { c.finish(o, nil) })
	return nil
}

// end ends the session and all other operations. When the nodes have left the session or were given
// up, it calls the function then.
func (c *Console) end(o *operation, then func()) {
	s := c.session
	s.ending = true
	c.deadlines.Clear(&s.idle)
	c.deadlines.Clear(&s.ping)
	for _, other := range slices.Clone(c.operations) {
		if other != o {
			c.stop(other, syscall.ESHUTDOWN)
		}
	}
	c.remove(o, slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return !n.mayHave() }), func() {
		c.session = nil
		then()
	})
}

// use restarts the idle timer, at whose end the session ends.
func (c *Console) use() {
	if s := c.session; s != nil && !s.ending {
		c.after(&s.idle, s.timeout, c.idle)
	}
}

// idle ends the session, unless a command is under way.
func (c *Console) idle() {
	if c.commands() > 0 {
		c.use()
		return
	}
	o := c.background()
	c.end(o, func() { c.finish(o, nil) })
}

// pingSilent sends DEBUG to the nodes that have been silent for half their time-out, so that
// their sessions do not end. A node that was down is asked, too: it may be back.
func (c *Console) pingSilent(s *session) {
	c.after(&s.ping, pingInterval, func() { c.pingSilent(s) })
	var silent []*node
	for _, n := range s.nodes {
		if (n.state == Active || n.state == Down) && !n.pinging && c.now-n.heard >= n.timeout/2 {
			n.pinging = true
			n.heard = c.now // a node that does not answer is pinged again after another half of its time-out
			silent = append(silent, n)
		}
	}
	o := c.background()
	c.ask(&transaction{
		of: o, service: wire.DebugService, nodes: silent, wait: mostWait,
		request: func(int) (wire.Body, []byte) { return &wire.Debug{Session: s.id}, nil },
		then: func() {
			for _, n := range silent {
				n.pinging = false
			}
			c.finish(o, nil)
		},
	})
}

// current returns the session to a command with its key, which restarts the idle timer, also if the command is refused
// then. Commands with another key do not: users that wait for the end of the session would prevent it.
func (c *Console) current(key uint32) (*session, error) {
	s, err := c.existing()
	switch {
	case err != nil:
		return nil, err
	case s.key != key:
		return nil, fail(syscall.EACCES, "use the key of the session (LST_SESSION)", "the session has another key")
	}
	c.use()
	return s, nil
}

// existing returns the session.
func (c *Console) existing() (*session, error) {
	switch s := c.session; {
	case s == nil:
		return nil, fail(syscall.ESRCH, "make one first (lst new_session)", "there is no session")
	case s.ending:
		return nil, errEnding()
	default:
		return s, nil
	}
}

func errEnding() error {
	return fail(syscall.ESHUTDOWN, "try again in some seconds", "the session is being ended")
}

func errStopped(errno syscall.Errno) error {
	return fail(errno, "try again", "the command was given up")
}

// Session returns the session. ESRCH: there is none.
func (c *Console) Session() (Session, error) {
	s, err := c.existing()
	if err != nil {
		return Session{}, err
	}
	return s.describe(), nil
}

// checkName refuses names that do not fit into messages.
func checkName(of, name string) error {
	if name == "" || len(name) > wire.MaxName || strings.IndexByte(name, 0) >= 0 {
		return fail(syscall.EINVAL, "use 1 to 31 bytes, none of them zero", "%q cannot be the name of a %s", name, of)
	}
	return nil
}
