package daemon

import (
	"context"
	"slices"
	"sync"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// Settings is the configuration of a running daemon: the values in effect, and where they come from.
type Settings struct {
	// Load reads the configuration again, with the files that it names. Set before the first reload.
	Load func() (*config.Loaded, error)
	// Begin and End are called when a reload begins and when it is over; nil: nothing is called.
	Begin, End func()

	node *node.Node
	log  *Log

	turn chan struct{} // capacity 1; has an element while a reload runs, so that reloads run one at a time

	mu      sync.Mutex         // never held while a reload waits for something
	now     *config.Loaded     // configuration in effect; guarded by mu, like the fields below; only a reload changes it
	pending []config.KeyChange // changes for which the last reload was refused: they need a restart
	closed  bool               // no reload begins any more
}

// NewSettings returns the settings of a daemon that has started with a configuration.
func NewSettings(l *config.Loaded, n *node.Node, log *Log) *Settings {
	return &Settings{now: l, node: n, log: log, turn: make(chan struct{}, 1)}
}

// Routes returns the operations of the settings.
func (s *Settings) Routes() []control.Route {
	return []control.Route{OpConfig.Do(s.ask), OpReload.Do(func(ctx context.Context, _ control.None) (Reloaded, error) { return s.Reload(ctx) })}
}

// ask answers OpConfig with the result of Show. Clients that may not change anything get it without the
// arguments of programs.
func (s *Settings) ask(ctx context.Context, _ control.None) ([]config.Value, error) {
	list, err := s.Show()
	if control.MayChange(ctx) {
		return list, err
	}
	for i, v := range list {
		list[i].Value = config.WithoutArguments(v.Key, v.Value)
		if v.Next != nil {
			next := config.WithoutArguments(v.Key, *v.Next)
			list[i].Next = &next
		}
	}
	return list, err
}

// Show returns the value of every key that is in effect now, and where it comes from.
func (s *Settings) Show() ([]config.Value, error) {
	s.mu.Lock()
	now, pending := s.now, s.pending
	s.mu.Unlock()
	further, err := s.node.RunTime(now)
	if err != nil {
		return nil, err
	}
	if level := s.log.Level(); level != now.LogLevel {
		further = append(further, config.Source{Key: "log_level", Value: config.LevelName(level), From: config.RunTime})
	}
	values := now.Values(further...)
	for _, p := range pending {
		i := slices.IndexFunc(values, func(v config.Value) bool { return v.Key == p.Key })
		if i < 0 {
			i = len(values)
			values = append(values, config.Value{Key: p.Key, Origin: config.FromDefault})
		}
		values[i].Next = &p.New
	}
	return values, nil
}
