package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/portals/keyring"
)

// A Reloader is a module that follows changes of the configuration.
type Reloader interface {
	// Reload replaces the configuration that the module was made with. Only keys of
	// config.AtRunTime have other values.
	Reload(to *config.Config)
}

// Reload changes the node where one configuration differs from another one, by the operations that
// the control socket has. What does not differ stays as it is, also if a command has changed it since
// the start. It returns texts about what it has changed. After an error it takes its changes back;
// the error says which one failed, and where the configuration asks for it. While LNet is not
// configured on the node, networks, peers, rules and routes are taken from the new configuration
// when LNet is configured again.
func (n *Node) Reload(ctx context.Context, from, to *config.Loaded) (done []string, err error) {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	r := reload{n: n, to: to}
	if r.was, err = n.Wanted(from); err != nil {
		return nil, err
	}
	if r.will, err = n.Wanted(to); err != nil {
		return nil, err
	}
	resolved := to.Config
	if err = resolved.ResolveNetworks(LocalAddresses); err != nil {
		return nil, err
	}
	r.settings()
	if !n.unconfigured.Load() {
		r.networks()
		r.peers()
		r.rules()
	}
	r.router(from)
	r.faults(from.Faults, to.Faults)
	r.modules(from)
	r.keys(from)
	if done, err = r.run(ctx); err == nil {
		n.current.Store(&resolved)
	}
	return done, err
}

// reload is a reload of the configuration: the changes that it consists of.
type reload struct {
	n         *Node
	to        *config.Loaded
	was, will *tree.Tree
	steps     []step
}

// A step is one change.
type step struct {
	key  string // key of the configuration that asks for it
	what string // what changes, for people
	// do makes the change and returns the function that takes it back; nil: there was nothing to
	// change.
	do func(context.Context) (undo func(context.Context) error, err error)
}

func (r *reload) add(key, what string, do func(context.Context) (func(context.Context) error, error)) {
	r.steps = append(r.steps, step{key, what, do})
}

// run makes all changes, or takes back those that it has made.
func (r *reload) run(ctx context.Context) (done []string, err error) {
	var undo []func()
	for _, s := range r.steps {
		back, err := s.do(ctx)
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
			return nil, fmt.Errorf("%s%s: %w", r.position(s.key), s.what, err)
		}
		if back == nil {
			continue
		}
		done = append(done, s.what)
		undo = append(undo, func() {
			if err := back(ctx); err != nil {
				r.n.cfg.Log.Error("a change could not be taken back", slog.String("change", s.what), slog.Any("err", err))
			}
		})
	}
	return done, nil
}

// position returns the position of a key in the configuration, with a colon behind it.
func (r *reload) position(key string) string {
	from := r.to.From(key)
	if from == "" {
		from = r.to.LNetConf
	}
	if from == "" {
		return ""
	}
	return from + ": "
}

// modules passes the configuration to the modules that follow it.
func (r *reload) modules(from *config.Loaded) {
	if from.SelftestAllow == r.to.SelftestAllow {
		return
	}
	tell := func(c *config.Config) {
		for _, m := range r.n.modules {
			if f, ok := m.(Reloader); ok {
				f.Reload(c)
			}
		}
	}
	r.add("selftest_allow", fmt.Sprintf("selftest_allow: %q", r.to.SelftestAllow), func(context.Context) (func(context.Context) error, error) {
		tell(&r.to.Config)
		return func(context.Context) error { tell(&from.Config); return nil }, nil
	})
}

// keys reads the files of keys again if one has other keys. It is the last step, because it is not
// taken back.
func (r *reload) keys(from *config.Loaded) {
	of := func(c *config.Config) []keyring.Keys {
		return []keyring.Keys{c.Gossip.Keys, c.Scoll.Keys, c.Rmcast.Keys, c.Zone.Keys, c.Health.Keys, c.Health.ClaimKeys}
	}
	if reflect.DeepEqual(of(&from.Config), of(&r.to.Config)) || len(r.n.keys()) == 0 {
		return
	}
	r.add("key_file", "keys", func(context.Context) (func(context.Context) error, error) {
		return func(context.Context) error { return errors.ErrUnsupported }, r.n.KeysReload()
	})
}
