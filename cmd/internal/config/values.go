package config

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/parser"

	"ulnet/cmd/internal/config/tree"
)

// Value is the value of a key that is in effect, and where it comes from.
type Value struct {
	Key    string `json:"key"`    // key of the file after the names of its sections, with dots between, such as gossip.interval
	Value  string `json:"value"`  // text of the value on one line
	Origin Origin `json:"origin"` // kind of place that the value comes from
	From   string `json:"from"`   // the place, such as lnetd.yaml:3 or --networks; empty: a default
	// Next is the text of a value that the last reload has found in the configuration, and that takes effect
	// only after a restart; nil: there is none.
	Next *string `json:"next,omitempty"`
}

// Origin is a kind of place that values come from.
type Origin string

// The origins.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromFlag        Origin = "flag"
	FromEnvironment Origin = "environment"
	FromRunTime     Origin = "run time" // a command has changed the value in the running daemon
)

// RunTime is the text in Source.From for a value that a command has changed.
const RunTime = "run time"

func originOf(from string) Origin {
	switch {
	case from == "":
		return FromDefault
	case from == RunTime:
		return FromRunTime
	case strings.HasPrefix(from, "--"):
		return FromFlag
	case strings.HasPrefix(from, "$"):
		return FromEnvironment
	}
	return FromFile
}

// defaults returns all keys with their defaults, in the order of the reference.
var defaults = sync.OnceValue(func() []Source {
	file, err := parser.ParseBytes([]byte(Reference()), 0)
	if err != nil {
		panic(err) // does not happen: a test parses the reference
	}
	entries, err := mapping("", file.Docs[0].Body)
	if err != nil {
		panic(err)
	}
	list := sourcesOf("", "", entries)
	for i := range list {
		list[i].From = ""
	}
	return list
})

// Values returns the values of all keys, in the order of the reference. Further sources take precedence
// over those of the configuration. A section whose keys are names, such as handlers, has a value for each
// key that was given.
func (l *Loaded) Values(further ...Source) []Value {
	v := values{}
	for _, s := range defaults() {
		v.list = append(v.list, valueOf(s))
	}
	for _, s := range slices.Concat(l.Sources, l.importedSettings(), further) {
		for _, one := range canonical(s) {
			v.set(one)
		}
	}
	return v.list
}

func valueOf(s Source) Value {
	return Value{Key: s.Key, Value: s.Value, Origin: originOf(s.From), From: s.From}
}

// values are the values of keys, while sources are applied to them.
type values struct{ list []Value }

func (v *values) index(key string) int {
	return slices.IndexFunc(v.list, func(o Value) bool { return o.Key == key })
}

// set applies a source: its value replaces the one that its key has.
func (v *values) set(s Source) {
	if slices.Contains(networkKeys, s.Key) && s.From != RunTime && s.Value != "" && s.Value != "[]" {
		for _, key := range networkKeys {
			v.reset(key)
		}
	}
	if i := v.index(s.Key); i >= 0 {
		v.list[i] = valueOf(s)
		return
	}
	v.insert(s)
}

// reset gives a key its default.
func (v *values) reset(key string) {
	all := defaults()
	i := slices.IndexFunc(all, func(s Source) bool { return s.Key == key })
	v.list[v.index(key)] = valueOf(all[i])
}

// insert adds a key that has no default, after the other keys of its section. If the section has no keys
// yet, it is in the list as an empty value, which the key replaces.
func (v *values) insert(s Source) {
	at := len(v.list)
	for section := s.Key; ; {
		i := strings.LastIndexByte(section, '.')
		if i < 0 {
			break
		}
		section = section[:i]
		if own := v.index(section); own >= 0 {
			v.list = slices.Delete(v.list, own, own+1)
			at = own
			break
		}
		last := -1
		for i, o := range v.list {
			if strings.HasPrefix(o.Key, section+".") {
				last = i
			}
		}
		if last >= 0 {
			at = last + 1
			break
		}
	}
	v.list = slices.Insert(v.list, at, valueOf(s))
}

// canonical converts a source for a setting of the sections global, buffers or routing, which have the
// form of lnetctl's files, to a source for lnetd's key with the same meaning. It returns other sources
// unchanged.
func canonical(s Source) []Source {
	section, name, ok := strings.Cut(s.Key, ".")
	switch {
	case s.Key == "routing": // a list, as 'lnetctl export' prints it; if routing is a section, its keys have names such as routing.enable
		if _, rest, found := strings.Cut(s.Value, "enable: "); found {
			return []Source{{"routing.enable", strings.TrimRight(rest[:min(len(rest), 1)], "]}"), s.From}}
		}
		return nil
	case !ok:
		return []Source{s}
	case section == "buffers":
		return []Source{{"routing." + name, s.Value, s.From}}
	case section != "global":
		return []Source{s}
	}
	for _, n := range tree.NodeSettings() {
		if n.Name == name {
			return []Source{{n.Key, keyValue(n, s.Value), s.From}}
		}
	}
	return []Source{s}
}

// keyValue converts the value of a setting in the section global to that of the module parameter for it.
func keyValue(n tree.NodeSetting, value string) string {
	if set, err := strconv.ParseInt(value, 0, 64); err == nil && n.Inverse {
		return strconv.FormatInt(1-set, 10)
	}
	return value
}

// maxShown is the number of characters of a value that are shown in a table.
const maxShown = 64

// Shown returns the text of a value for a table: its beginning if it is long, and two quotation
// marks if it is empty.
func Shown(value string) string {
	if value == "" {
		return `""`
	}
	if r := []rune(value); len(r) > maxShown {
		return string(r[:maxShown-3]) + "..."
	}
	return value
}
