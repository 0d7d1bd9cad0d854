package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/health"
	healthwire "ulnet/health/wire"
)

// maxHealthTime is the largest value of a time in the section health.
const maxHealthTime = 24 * time.Hour

func timeSettings(t *health.Timing) map[string]setting {
	return map[string]setting{
		"ping":      span(&t.Ping, 10*time.Millisecond, maxHealthTime),
		"client":    span(&t.Client, 0, maxHealthTime),
		"elect":     span(&t.Elect, 0, maxHealthTime),
		"evict":     span(&t.Evict, 0, maxHealthTime),
		"orphan":    span(&t.Orphan, 0, maxHealthTime),
		"quorum":    quorumTime(&t.Quorum),
		"broadcast": span(&t.Broadcast, time.Millisecond, time.Minute),
		"rtt":       span(&t.RTT, 100*time.Microsecond, time.Minute),
		"tick":      span(&t.Tick, time.Millisecond, time.Minute),
		"try":       span(&t.Try, 0, maxHealthTime),
	}
}

// quorumTime parses a time, or the words "at once", for which it stores a negative number.
func quorumTime(to *time.Duration) setting {
	return setting{func(value ast.Node) error {
		if s, ok := value.(*ast.StringNode); ok && s.Value == "at once" {
			*to = -1
			return nil
		}
		err := span(to, 0, maxHealthTime).put(value)
		if err != nil {
			err = fmt.Errorf("%w, or \"at once\"", err)
		}
		return err
	}}
}

// checkTimes checks whether the times fit together. The error names a time without which all others
// would be valid or, if there is none, the first time of the list below that the file sets. The map at
// has the positions of the keys.
func (h *Health) checkTimes(file string, at map[string]*token.Token) error {
	_, err := h.Times.Filled()
	wrong, ours := errors.AsType[*health.Error](err)
	if !ours {
		return err
	}
	byDefault := defaultHealth().Times
	blamed := ""
	for _, suspect := range []struct {
		key   string
		clear func(*health.Timing)
	}{
		{"evict", func(t *health.Timing) { t.Evict = 0 }},
		{"client", func(t *health.Timing) { t.Client = 0 }},
		{"elect", func(t *health.Timing) { t.Elect = 0 }},
		{"orphan", func(t *health.Timing) { t.Orphan = 0 }},
		{"try", func(t *health.Timing) { t.Try = 0 }},
		{"rtt", func(t *health.Timing) { t.RTT = byDefault.RTT }},
		{"ping", func(t *health.Timing) { t.Ping = byDefault.Ping }},
	} {
		if at[suspect.key] == nil {
			continue
		}
		without := h.Times
		suspect.clear(&without)
		_, still := without.Filled()
		if blamed == "" || still == nil {
			blamed = suspect.key
		}
		if still == nil {
			break
		}
	}
	return errorAt(file, at[blamed], fmt.Errorf("%s: %s (these are ping, client, elect, evict, orphan, try and rtt in the section times)", blamed, wrong.Why))
}

// positionsOf returns the positions of the values of keys.
func positionsOf(entries []*ast.MappingValueNode) map[string]*token.Token {
	at := map[string]*token.Token{}
	for _, e := range entries {
		at[e.Key.GetToken().Value] = e.Value.GetToken()
	}
	return at
}

// takeAttach parses a list of servers, or "all".
func (h *Health) takeAttach(value ast.Node) error {
	if s, ok := value.(*ast.StringNode); ok && s.Value == "all" {
		h.AttachAll = true
		return nil
	}
	err := members(&h.Attach).put(value)
	if _, list := value.(*ast.SequenceNode); err != nil && !list {
		err = fmt.Errorf("%w; or \"all\"", err)
	}
	return err
}

// checkClientName refuses an invalid name of a client.
func checkClientName(s string) error {
	if len(s) > healthwire.MaxName || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%q: want up to %d bytes that can be printed", s, healthwire.MaxName)
	}
	return nil
}
