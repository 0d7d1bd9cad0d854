package daemon

import (
	"sync"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// Settings is the configuration of a running daemon: what counts, and why.
type Settings struct {
	node *node.Node
	log  *Log

	mu  sync.Mutex
	now *config.Loaded // configuration that counts; guarded by mu
}

// NewSettings returns the settings of a daemon that has started with a configuration.
func NewSettings(l *config.Loaded, n *node.Node, log *Log) *Settings {
	return &Settings{now: l, node: n, log: log}
}

// Routes returns the operations of the settings.
func (s *Settings) Routes() []control.Route {
	return []control.Route{OpConfig.Do(control.Ask(s.Show))}
}

// Show returns the value of every key that counts now, and where it comes from.
func (s *Settings) Show() ([]config.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	further, err := s.node.RunTime(s.now)
	if err != nil {
		return nil, err
	}
	if level := s.log.Level(); level != s.now.LogLevel {
		further = append(further, config.Source{Key: "log_level", Value: config.LevelName(level), From: config.RunTime})
	}
	return s.now.Values(further...), nil
}
