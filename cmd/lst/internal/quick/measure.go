package quick

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// Console is the console that a measurement uses: that of a daemon, or one of this process.
// [console.Console] describes the methods.
type Console interface {
	NewSession(ctx context.Context, n console.NewSession) (console.Session, error)
	EndSession(ctx context.Context, key uint32) ([]console.Answer, error)
	AddGroup(ctx context.Context, key uint32, name string, ids []nid.ProcessID) ([]console.Answer, error)
	AddBatch(ctx context.Context, key uint32, name string) error
	AddTest(ctx context.Context, key uint32, t console.Test) ([]console.Answer, error)
	Run(ctx context.Context, key uint32, batch string, timeout time.Duration) ([]console.Answer, error)
	Stop(ctx context.Context, key uint32, batch string, force bool) ([]console.Answer, error)
	Query(ctx context.Context, key uint32, batch string, test int, timeout time.Duration) ([]console.Answer, error)
	Stat(ctx context.Context, key uint32, target console.Target, timeout time.Duration) ([]console.Answer, error)
}

// Config says what is measured.
type Config struct {
	From, To    []nid.ProcessID // clients and servers; a node can be in both
	Service     wire.Service    // wire.BRWService or wire.PingService
	BRW         wire.BRWParams  // parameters of BRWService
	Concurrency int             // number of RPCs that each client has under way at a time, 1 to 1024
	Time        time.Duration   // duration of all rounds together
	Force       bool            // take nodes from other consoles, and end an earlier session of this one
	Key         uint32          // key of the session, not 0
	Own         *Own            // node whose RPCs can be timed one by one; nil: none
	// Progress is called when something begins. Nil: it is not called.
	Progress func(text string)
}

// Times and bounds of a measurement.
const (
	shortestRound    = time.Second
	shortestInterval = 100 * time.Millisecond // much longer than the milliseconds in which kernel nodes count
	intervals        = 50                     // number of intervals in a round; fewer if they would be shorter than shortestInterval
	statTimeout      = 10 * time.Second
	runTimeout       = 20 * time.Second
	stopTimeout      = 4 * time.Second // time for the RPCs under way at the end of a round; those that take longer are aborted
	forceTimeout     = 2 * time.Second // time until they are aborted
	stopInterval     = 50 * time.Millisecond
	cleanTimeout     = 10 * time.Second
	mostBatches      = 48          // largest number of batches in a session; test nodes of ulnet accept 64
	idleTimeout      = time.Minute // time without commands after which the session ends by itself, such as that of a measurement that was killed
)

// Measure measures all pairs of a client and a server. A pair with a lost node has the reason in
// its field Failed. The session is ended when Measure returns, also when ctx ends; the result then
// has the pairs that were measured before.
func Measure(ctx context.Context, c Console, cfg Config) (r *Result, err error) {
	if _, err := plan(cfg.From, cfg.To, own); err != nil {
		return nil, err
	}
	m := &measurement{Config: cfg, console: c, lost: map[nid.ProcessID]string{}}
	defer func() { err = errors.Join(err, m.end()) }()
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	rounds, err := plan(cfg.From, cfg.To, m.nodes(ctx))
	if err != nil {
		return nil, err
	}
	m.round = max(cfg.Time/time.Duration(len(rounds)), shortestRound)
	r = m.result(len(rounds))
	for i, pairs := range rounds {
		if err := m.begin(ctx); err != nil {
			return r, err
		}
		m.say(fmt.Sprintf("round %d of %d, %d pairs for %v", i+1, len(rounds), len(pairs), m.round.Round(time.Millisecond)))
		measured, err := m.measure(ctx, pairs)
		r.add(measured)
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// measurement is a measurement under way.
type measurement struct {
	Config
	console Console
	round   time.Duration            // length of a round
	session bool                     // there is a session
	batches int                      // number of batches in the session
	batch   string                   // batch that may be running; "": none is
	lost    map[nid.ProcessID]string // nodes that cannot be measured, and why
}

func (m *measurement) say(text string) {
	if m.Progress != nil {
		m.Progress(text)
	}
}

// lose notes the nodes that have not done what they were asked to do.
func (m *measurement) lose(answers []console.Answer, what string) {
	for _, a := range answers {
		switch {
		case a.OK(), m.lost[a.ID] != "":
		case a.Failed != 0:
			m.lost[a.ID] = fmt.Sprintf("%s: no answer from %s: %v", what, a.ID.NID, a.Failed)
		default:
			m.lost[a.ID] = fmt.Sprintf("%s: %s refuses: %v", what, a.ID.NID, a.Status)
			if a.Name != "" {
				m.lost[a.ID] += fmt.Sprintf(" (it has the session %q of %v)", a.Name, a.Session.Console)
			}
		}
	}
}

// begin makes a session with all nodes, unless there is one with fewer than mostBatches batches. It
// replaces a session that has mostBatches, because batches cannot be removed from a session.
func (m *measurement) begin(ctx context.Context) error {
	if m.session && m.batches < mostBatches {
		return nil
	}
	if err := m.end(); err != nil {
		return err
	}
	if _, err := m.console.NewSession(ctx, console.NewSession{
		Key: m.Key, Name: "quick", Timeout: idleTimeout, Force: m.Force, Features: wire.KnownFeatures,
	}); err != nil {
		return err
	}
	m.session, m.batches = true, 0
	return m.join(ctx)
}

// join asks all nodes to join the session.
func (m *measurement) join(ctx context.Context) error {
	all := slices.Concat(m.From, m.To)
	slices.SortFunc(all, nid.ProcessID.Compare)
	all = slices.Compact(all)
	m.say(fmt.Sprintf("session with %d nodes", len(all)))
	answers, err := m.console.AddGroup(ctx, m.Key, "all", all)
	if err != nil {
		return err
	}
	m.lose(answers, "new session")
	if len(m.lost) < len(all) {
		return nil
	}
	return fmt.Errorf("no node can be measured; the first one: %s", m.lost[all[0]])
}

// nodes returns a function that says which NIDs belong to one node. Nodes that have joined the session were discovered.
func (m *measurement) nodes(ctx context.Context) func(nid.ProcessID) nid.NID {
	if m.Own == nil || m.Own.Primary == nil || len(m.Own.NIDs) == 0 {
		return own
	}
	primary := map[nid.ProcessID]nid.NID{}
	for _, id := range slices.Concat(m.From, m.To) {
		if slices.Contains(m.Own.NIDs, id.NID) {
			primary[id] = m.Own.NIDs[0]
		} else if m.lost[id] == "" {
			primary[id] = m.Own.Primary(ctx, id.NID)
		} else {
			primary[id] = id.NID
		}
	}
	return func(id nid.ProcessID) nid.NID { return primary[id] }
}

// end ends the session and so its tests, whatever has become of the caller's context.
func (m *measurement) end() error {
	if !m.session {
		return nil
	}
	m.session, m.batch = false, ""
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if _, err := m.console.EndSession(ctx, m.Key); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return nil
}
