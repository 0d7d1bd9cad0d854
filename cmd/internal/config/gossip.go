package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Gossip is the section gossip of the file: the servers that take part in gossip, and its
// parameters. The comment of each field begins with its key.
type Gossip struct {
	Start bool // start: gossip begins with the daemon

	NIDs     []nid.NID // nids, or what nids_file has; none: there is no gossip
	NIDsFile string    // nids_file: path of a file with NIDs
	NIDsAt   Position  // position of the NIDs in the file

	Interval   time.Duration // interval: time between gossip cycles
	RTT        time.Duration // rtt: estimated round-trip time
	Fudge      int           // fudge: cycles of tolerance; -1: depends on the number of participants
	DeadFactor int           // dead_factor: how fast the age limit rises with the number of participants, see gossip.Config.DeadFactor
	DeadSlack  int           // dead_slack: cycles added to the age limit, see gossip.Config.DeadSlack
	Obsolete   int           // obsolete: units of the Lamport clock after which a message is dropped; 0: depends on the number of participants
	Quorum     int           // quorum: there is a quorum while more than this percentage of the participants is alive
	ColdStart  bool          // cold_start: the node sends messages from its first cycle on, instead of being silent at first
	Strict     bool          // strict: gossip does exactly what the design says
	Seed       uint64        // seed of the random choices; 0: chosen at the start

	KeyFile string       // key_file: path of the file with the keys
	Keys    keyring.Keys // keys that key_file has
}

// Position is a position in a file. The zero value means that there is no position.
type Position struct {
	File         string // path of the file
	Line, Column int    // line and column, counted from 1
}

// Wrap returns err as an [Error] at the position, or err itself if there is no position.
func (p Position) Wrap(err error) error {
	if err == nil || p.File == "" {
		return err
	}
	return &Error{File: p.File, Line: p.Line, Column: p.Column, Err: err}
}

func defaultGossip() Gossip {
	return Gossip{Start: true, Interval: time.Second, Fudge: -1, DeadFactor: 2, DeadSlack: 4, Quorum: 50}
}

// Agent returns the configuration for package gossip, where zero values mean defaults and
// negative ones mean zero.
func (g Gossip) Agent() gossip.Config {
	return gossip.Config{
		Participants: g.NIDs,
		Interval:     g.Interval, RTT: g.RTT, Fudge: orNone(g.Fudge, -1),
		DeadFactor: orNone(g.DeadFactor, math.MinInt), DeadSlack: orNone(g.DeadSlack, math.MinInt),
		Obsolete: g.Obsolete, Quorum: orNone(g.Quorum, math.MinInt),
		ColdStart: g.ColdStart, Strict: g.Strict, Seed: g.Seed, Keys: g.Keys,
	}
}

// orNone converts a number of the file to one of gossip.Config, where 0 means the default: the
// value byDefault becomes 0, and 0 becomes -1.
func orNone(n, byDefault int) int {
	switch n {
	case byDefault:
		return 0
	case 0:
		return -1
	}
	return n
}

// The largest values that make sense.
const (
	maxGossipTime = 24 * time.Hour
	maxAge        = 254
)

func (g *Gossip) settings(file string) map[string]setting {
	return map[string]setting{
		"start":       flag(&g.Start),
		"nids":        participants(&g.NIDs),
		"nids_file":   text(&g.NIDsFile, nil),
		"interval":    interval(&g.Interval, engine.MinInterval),
		"rtt":         interval(&g.RTT, 0),
		"fudge":       number(&g.Fudge, -1, maxAge),
		"dead_factor": number(&g.DeadFactor, 0, maxAge),
		"dead_slack":  number(&g.DeadSlack, 0, maxAge),
		"obsolete":    number(&g.Obsolete, 0, maxCount),
		"quorum":      number(&g.Quorum, 0, 99),
		"cold_start":  flag(&g.ColdStart),
		"strict":      flag(&g.Strict),
		"seed":        seed(&g.Seed),
		"key_file":    keyFile(&g.KeyFile, &g.Keys, file),
	}
}

// loadRegular is LoadNIDs for a file that a daemon reads again: a FIFO would keep it waiting.
func loadRegular(path string) ([]nid.NID, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return LoadNIDs(path)
}

// check reads the file of NIDs, and refuses values that do not fit together. The map at has the
// positions of the keys in the section.
func (g *Gossip) check(file string, at map[string]*token.Token) error {
	switch {
	case at["nids"] != nil && len(g.NIDs) > 0 && g.NIDsFile != "":
		return errorAt(file, at["nids_file"], errors.New("nids_file: nids names the participants already: take one of the two out"))
	case g.NIDsFile != "":
		nids, err := loadRegular(beside(file, g.NIDsFile))
		if _, positioned := errors.AsType[*Error](err); err != nil && !positioned {
			err = errorAt(file, at["nids_file"], fmt.Errorf("nids_file: %w", err))
		}
		if err != nil {
			return err
		}
		g.NIDs, g.NIDsAt = nids, positionOf(file, at["nids_file"])
	case len(g.NIDs) > 0:
		g.NIDsAt = positionOf(file, at["nids"])
	default: // the file has no NIDs: "gossipctl init" will bring them, and check whether these values suit their number
		times := defaultGossip()
		times.Interval, times.RTT = g.Interval, g.RTT
		return times.checkNumbers(file, at, 2)
	}
	if _, err := engine.NewList(g.NIDs); err != nil {
		return g.NIDsAt.Wrap(err)
	}
	return g.checkNumbers(file, at, len(g.NIDs))
}

// checkNumbers checks the numbers for n participants. The error names a number without which all
// others would be valid, if there is one.
func (g *Gossip) checkNumbers(file string, at map[string]*token.Token, n int) error {
	_, err := g.Agent().Engine().Limits(n)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*gossip.Error](err); ok {
		err = errors.New(e.Why)
	}
	byDefault := defaultGossip()
	for _, suspect := range []struct {
		key   string
		clear func(*Gossip)
	}{
		{"interval", func(g *Gossip) { g.Interval = max(byDefault.Interval, g.RTT/2) }},
		{"fudge", func(g *Gossip) { g.Fudge = byDefault.Fudge }},
		{"dead_factor", func(g *Gossip) { g.DeadFactor = byDefault.DeadFactor }},
		{"dead_slack", func(g *Gossip) { g.DeadSlack = byDefault.DeadSlack }},
		{"rtt", func(g *Gossip) { g.RTT = 0 }},
	} {
		without := *g
		suspect.clear(&without)
		if _, still := without.Agent().Engine().Limits(n); still == nil && at[suspect.key] != nil {
			return errorAt(file, at[suspect.key], fmt.Errorf("%s: %w", suspect.key, err))
		}
	}
	return err
}

func positionOf(file string, t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{File: file}
	}
	return Position{file, t.Position.Line, t.Position.Column}
}

// interval parses a time of gossip, with its unit, in whole milliseconds.
func interval(to *time.Duration, least time.Duration) setting {
	return setting{func(value ast.Node) error {
		s, ok := value.(*ast.StringNode)
		var d time.Duration
		var err error
		if ok {
			d, err = time.ParseDuration(s.Value)
		} else if i, isNumber := value.(*ast.IntegerNode); isNumber && fmt.Sprint(i.Value) == "0" {
			ok = true
		}
		switch {
		case !ok || err != nil || d < least || d > maxGossipTime:
			return fmt.Errorf("want a time from %v to %v such as 500ms, not %q", least, maxGossipTime, value)
		case d%time.Millisecond != 0:
			return fmt.Errorf("want whole milliseconds, not %q", value)
		}
		*to = d
		return nil
	}}
}

func seed(to *uint64) setting {
	return setting{func(value ast.Node) error {
		var n int
		if err := number(&n, 0, math.MaxInt64).put(value); err != nil {
			return err
		}
		*to = uint64(n)
		return nil
	}}
}
