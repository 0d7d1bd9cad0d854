// Package selftest is the daemon's module of lnet_selftest, Lustre's test of its network: the
// node becomes a test node, and has a console, if the configuration says so.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
)

// Module is the test node and the console of the daemon.
type Module struct {
	node.Host
	agent   *selftest.Agent         // nil: the node is no test node
	console *console.Console        // nil: the daemon has no console
	allowed atomic.Pointer[nid.Set] // nodes of the setting selftest_allow; nil: all on the networks of this node
}

// New returns the module of a node.
func New(host node.Host) *Module { return &Module{Host: host} }

// Routes returns the operations with their implementations.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Ask(m.Status)), OpLatencies.Do(control.Ask(m.latencies)), OpJoin.Do(m.join),
		OpSession.Do(control.Ask(m.session)), OpNewSession.Do(m.newSession), OpEndSession.Do(m.endSession),
		OpPing.Do(m.ping), OpStat.Do(m.stat),
		OpGroups.Do(control.Ask(m.groups)), OpGroup.Do(control.Quick(m.group)), OpAddGroup.Do(m.addGroup), OpAddNodes.Do(m.addNodes),
		OpRefreshGroup.Do(m.refreshGroup), OpCleanGroup.Do(m.cleanGroup), OpRemoveNodes.Do(m.removeNodes), OpDeleteGroup.Do(m.deleteGroup),
		OpBatches.Do(control.Ask(m.batches)), OpBatch.Do(control.Quick(m.batch)), OpAddBatch.Do(m.addBatch), OpAddTest.Do(m.addTest),
		OpRun.Do(m.run), OpStop.Do(m.stop), OpQuery.Do(m.query),
	}
}

// Open makes the node a test node with a console, if the configuration says so.
func (m *Module) Open() (err error) {
	if !m.Config.Selftest {
		return nil
	}
	if err = m.allow(m.Config.SelftestAllow); err != nil {
		return err
	}
	if m.agent, err = selftest.New(m.Table, selftest.Config{Allow: m.allows, Log: m.Log}); err != nil {
		return err
	}
	if m.console, err = console.New(m.Table, m.agent, console.Config{Log: m.Log}); err != nil {
		return err
	}
	m.Log.Info("this node is a test node of lnet_selftest", slog.String("allow", m.Config.SelftestAllow))
	return nil
}

// allow sets the nodes for which allows returns true: a list of NIDs; empty: those on this node's
// networks.
func (m *Module) allow(list string) error {
	if list == "" {
		m.allowed.Store(nil)
		return nil
	}
	set, err := nid.ParseSet(list)
	if err != nil {
		return fmt.Errorf("selftest_allow: %w", err)
	}
	m.allowed.Store(&set)
	return nil
}

// Reload implements node.Reloader: it sets the nodes that may use this test node from now on. A session
// ends if its console, or a destination of its tests, is not one of these nodes.
func (m *Module) Reload(to *config.Config) {
	if err := m.allow(to.SelftestAllow); err != nil { // cannot happen, because package config has checked the list
		m.Log.Error("selftest", slog.Any("err", err))
		return
	}
	if m.agent != nil {
		m.agent.Recheck()
	}
}

// allows reports whether a node may make sessions, send test RPCs, and be the destination of
// tests: those of selftest_allow or, without that, all on the networks of this node. The node
// itself always may.
func (m *Module) allows(id nid.NID) bool {
	own := m.Table.Node().IDs()
	if slices.ContainsFunc(own, func(p nid.ProcessID) bool { return p.NID == id }) {
		return true
	}
	if set := m.allowed.Load(); set != nil {
		return set.Has(id)
	}
	return slices.ContainsFunc(own, func(p nid.ProcessID) bool { return p.NID.Net() == id.Net() })
}

// Status returns the session and the counters. ESRCH: the node is no test node.
func (m *Module) Status() (selftest.Status, error) {
	if m.agent == nil {
		return selftest.Status{}, errNoTestNode()
	}
	return m.agent.Status(), nil
}

// latencies returns the histogram of the RPCs. ESRCH: the node is no test node.
func (m *Module) latencies() ([]selftest.Latency, error) {
	if m.agent == nil {
		return nil, errNoTestNode()
	}
	return m.agent.Latencies(), nil
}

func errNoTestNode() error {
	return cli.Hint(cli.Errnof(syscall.ESRCH, "this node is no test node"), "set selftest to 1 in the configuration of lnetd")
}

// join has the node join the session of a console. Errors: those of [selftest.Agent.Join], and
// ESRCH if the node is no test node.
func (m *Module) join(ctx context.Context, r JoinRequest) (selftest.Joined, error) {
	if m.agent == nil {
		return selftest.Joined{}, errNoTestNode()
	}
	joined, err := m.agent.Join(ctx, r.Console, r.Group)
	if e, ok := errors.AsType[*selftest.Error](err); ok {
		err = cli.Errno(e.Errno, errors.New(e.Why))
	}
	return joined, err
}

// Close closes the console, which ends its session, and the agent of the test node.
func (m *Module) Close(ctx context.Context) error {
	var errs []error
	if m.console != nil {
		errs = append(errs, m.console.Close(ctx))
	}
	if m.agent != nil {
		errs = append(errs, m.agent.Close(ctx))
	}
	return errors.Join(errs...)
}

// Keys returns nil: selftest has no keys.
func (m *Module) Keys() *node.Keys { return nil }

// Files returns nil: selftest has no state files.
func (m *Module) Files() *statefiles.Config { return nil }
