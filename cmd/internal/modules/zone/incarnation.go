package zone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/incarnation"
	"ulnet/cmd/internal/statelock"
	"ulnet/gossip/zone"
)

// aloneAfter is the time after its join at which a node logs a warning, if it knows no other member by
// then.
const aloneAfter = 30 * time.Second

// LeaveRequest makes a node leave its zone.
type LeaveRequest struct {
	Code int32 `json:"code"` // exit code that all listeners are told
}

// Join makes a node that left its zone join it again, in a new incarnation. EALREADY: the node has
// not left its zone.
func (m *Module) Join() error {
	if _, err := m.agent(); err != nil {
		return err
	}
	err := m.zone.join()
	if errors.Is(err, zone.ErrJoined) {
		err = cli.Hint(cli.Errno(syscall.EALREADY, err), "'gossipctl zone status' shows how")
	}
	return err
}

// Leave makes the node leave its zone. Its attributes are then lost. ESRCH: the node takes no
// part in a zone.
func (m *Module) Leave(g LeaveRequest) error {
	if _, err := m.agent(); err != nil {
		return err
	}
	return notJoined(m.zone.leave(context.Background(), g.Code))
}

// member returns the agent of this node, if the node takes part in a zone.
func (m *Module) member() (*zone.Agent, error) {
	a, err := m.agent()
	if err == nil && !a.Joined() {
		err = notJoined(zone.ErrNotJoined)
	}
	return a, err
}

// notJoined returns err, and adds an errno and a hint if it is [zone.ErrNotJoined].
func notJoined(err error) error {
	if errors.Is(err, zone.ErrNotJoined) {
		err = cli.Hint(cli.Errno(syscall.ESRCH, err), "'gossipctl zone join' joins it again")
	}
	return err
}

// join begins an incarnation. It waits for the disk if the incarnation must be stored first.
func (z *zoner) join() error {
	z.changing <- struct{}{}
	defer func() { <-z.changing }()
	err := z.agent.Join(0)
	if err == nil && z.cfg.Monitor {
		err = z.agent.Set(zone.MonitorKey, nil)
	}
	if err == nil {
		z.lookAround()
	}
	return err
}

// leave tells the other members that this node leaves, so that they need not detect it. It waits, until ctx ends, for a
// join that waits for the disk.
func (z *zoner) leave(ctx context.Context, code int32) error {
	select {
	case z.changing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-z.changing }()
	if z.alone != nil {
		z.alone()
	}
	return z.agent.Leave(code)
}

// Close makes the node leave its zone and ends its agent.
func (m *Module) Close(ctx context.Context) error {
	if m.zone == nil {
		return nil
	}
	_ = m.zone.leave(ctx, 0) // fails if the node has not joined, or has left already
	m.zone.stop()
	_ = m.zone.agent.Close(ctx) // an error means that callbacks still run, or that the disk does not answer, which does no harm
	return nil
}

// lastIncarnation returns the highest incarnation number that messages of other nodes made this node
// take in earlier runs (MS-A2); 0 if none is stored.
func (z *zoner) lastIncarnation(dir string) uint64 {
	if dir == "" {
		return 0
	}
	n, err := incarnation.Kept(dir, z.kept())
	if err != nil {
		z.log.Warn("it is not known which incarnations this node had in its zone: others may not believe it at first", slog.Any("err", err))
	}
	return n
}

// keeper returns a function that stores the number of an incarnation for the next start, unless another daemon
// has locked the directory. It logs an error only if the call before succeeded, because other nodes can cause a
// call per second. The agent makes one call at a time.
func (z *zoner) keeper(dir string, state *statelock.Lock) func(uint64) {
	if dir == "" {
		return nil
	}
	failed := false
	return func(n uint64) {
		err := state.Hold()
		if err == nil {
			err = incarnation.Keep(dir, z.kept(), n)
		}
		if err != nil && !failed {
			z.log.Warn("the incarnation of this node in its zone is not kept: see --state-dir", slog.Uint64("incarnation", n), slog.Any("err", err))
		}
		failed = err != nil
	}
}

// kept returns the name under which the numbers of this node's incarnations are stored. It
// includes the id of the node, because each id has numbers of its own.
func (z *zoner) kept() string { return "zone " + z.cfg.Name + " " + z.id.String() }

// lookAround starts the timer that warns if no other node answers this one.
func (z *zoner) lookAround() {
	if z.alone != nil {
		z.alone()
	}
	timer := time.AfterFunc(aloneAfter, z.warnAlone)
	z.alone = func() { timer.Stop() }
}

func (z *zoner) warnAlone() {
	s := z.agent.Status()
	if why := Alone(&s); why != "" {
		z.log.Warn("this node is alone in its zone: "+why, slog.String("zone", s.Zone))
	}
}

// Alone returns why a node may know no other member of its zone although it has bootstrap nodes,
// and what to check. It returns "" if the node knows another member, has no bootstrap nodes, or
// has not joined.
func Alone(s *zone.Status) string {
	switch {
	case s.State != "joined" || s.Members != 1 || s.Bootstrap == 0:
		return ""
	case s.Stats.NotSigned > 0:
		return "messages came that are not signed with its key: key_file has to name the same key on all nodes, or on none"
	case s.Stats.OtherZone > 0:
		return "messages came that are of another zone: name has to be the same on all nodes of a zone"
	}
	return fmt.Sprintf("no node in bootstrap (%d without this one) answers: see whether lnetd runs there, with the same name and key_file in the section zone, and 'lnetctl ping NID'", s.Bootstrap)
}
