package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Interfaces are the interfaces of an NI. Their keys in a document are numbers from 0.
type Interfaces []string

// MarshalJSON implements json.Marshaler.
func (l Interfaces) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, name := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, strconv.Itoa(i)), ':')
		b = appendText(b, name)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON takes the interfaces in the order of the document, whatever their keys.
func (l *Interfaces) UnmarshalJSON(text []byte) error {
	*l = nil
	return members(text, func(_ string, value json.RawMessage) error {
		*l = append(*l, text2string(value))
		return nil
	})
}

// LNDTunable is a tunable of a driver.
type LNDTunable struct {
	Name  string // name of the tunable, such as conns_per_peer
	Value string // value of the tunable: a number
}

// LNDTunables are tunables of a driver, in the order in which Lustre's lnetctl shows them.
type LNDTunables []LNDTunable

// MarshalJSON implements json.Marshaler.
func (l LNDTunables) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, t := range l {
		if i > 0 {
			b = append(b, ',')
		}
		value := []byte(t.Value)
		if !json.Valid(value) {
			value = appendText(nil, t.Value)
		}
		b = append(append(appendText(b, t.Name), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler. A tunable without a value is not set.
func (l *LNDTunables) UnmarshalJSON(text []byte) error {
	*l = nil
	return members(text, func(key string, value json.RawMessage) error {
		if string(value) != "null" {
			*l = append(*l, LNDTunable{key, text2string(value)})
		}
		return nil
	})
}

// Get returns the value of a tunable as a number.
func (l LNDTunables) Get(name string) (n int, ok bool) {
	for _, t := range l {
		if t.Name == name {
			n, err := strconv.Atoi(t.Value)
			return n, err == nil
		}
	}
	return 0, false
}

func (l LNDTunables) has(name string) bool {
	return slices.ContainsFunc(l, func(t LNDTunable) bool { return t.Name == name })
}

// Numbers returns the tunables that are numbers, by name. It leaves out the timeout of the
// driver, which follows from the settings of the node.
func (l LNDTunables) Numbers() map[string]int {
	var all map[string]int
	for _, t := range l {
		if n, ok := l.Get(t.Name); ok && t.Name != "timeout" {
			if all == nil {
				all = make(map[string]int)
			}
			all[t.Name] = n
		}
	}
	return all
}

// without returns the list without one tunable.
func (l LNDTunables) without(name string) LNDTunables {
	return slices.DeleteFunc(slices.Clone(l), func(t LNDTunable) bool { return t.Name == name })
}

// text2string returns the text of a JSON scalar.
func text2string(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// members calls f with each member of a JSON object, in their order. null, which stands for a key without a value,
// has none.
func members(text []byte, f func(key string, value json.RawMessage) error) error {
	if string(text) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("want keys with values, not %s", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(fmt.Sprint(key), value); err != nil {
			return err
		}
	}
	return nil
}
