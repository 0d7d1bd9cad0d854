package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// maxReadings bounds the values in a round. Values beyond the bound are left out, and their
// number is reported.
const maxReadings = 20_000

// Reading is one value of a document, with the rate at which it changes.
type Reading struct {
	Path    string  // path of the value: keys and names of list items, separated by blanks
	Value   string  // text of the value
	Number  float64 // the value as a number, if it is one
	Rate    float64 // change of the number per second since the previous round
	Changed bool    // the value differs from that of the previous round, or is new
	numeric bool
}

// Rates compares documents that were read one after the other.
type Rates struct {
	last map[string]Reading
	at   time.Time
}

// Round takes a document in JSON, and the time at which it was read. It returns the numbers and
// texts in the document, in order, and how many more there are.
func (r *Rates) Round(text []byte, at time.Time) (list []Reading, more int, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	document, err := decodeOrdered(d)
	if err != nil {
		return nil, 0, err
	}
	f := flattener{}
	f.value("", document)
	passed, first := at.Sub(r.at).Seconds(), r.last == nil
	now := make(map[string]Reading, len(f.list))
	for i := range f.list {
		one := &f.list[i]
		before, known := r.last[one.Path]
		one.Changed = !first && (!known || before.Value != one.Value)
		if known && one.numeric && passed > 0 {
			one.Rate = (one.Number - before.Number) / passed
		}
		now[one.Path] = *one
	}
	r.last, r.at = now, at
	return f.list, f.more, nil
}

// flattener collects the readings of a document.
type flattener struct {
	list []Reading
	more int
}

func (f *flattener) value(path string, v any) {
	switch v := v.(type) {
	case yaml.MapSlice:
		for _, item := range v {
			f.value(strings.TrimPrefix(path+" "+fmt.Sprint(item.Key), " "), item.Value)
		}
	case []any:
		for i, item := range v {
			f.value(path+" "+nameOf(item, i), item)
		}
	default:
		f.scalar(path, v)
	}
}

func (f *flattener) scalar(path string, v any) {
	one := Reading{Path: path, Value: fmt.Sprint(v)}
	if n, ok := v.(json.Number); ok {
		number, err := n.Float64()
		one.Number, one.numeric = number, err == nil
	}
	if last := path[strings.LastIndex(path, " ")+1:]; !one.numeric && slices.Contains(names, last) {
		return // left out: an object's name is no reading, and the paths of the object's values already have it
	}
	if len(f.list) == maxReadings {
		f.more++
		return
	}
	f.list = append(f.list, one)
}

// names are keys whose value names the list item that has the key. The first such key of an item
// counts.
var names = []string{"nid", "type", "net", "client", "server", "name", "id", "idx"}

// nameOf returns the name of a list item, or its index if it has no name. If a key has several
// words, such as "primary nid", the last word is looked up in names.
func nameOf(item any, index int) string {
	m, ok := item.(yaml.MapSlice)
	if !ok {
		return strconv.Itoa(index)
	}
	for _, entry := range m {
		key := fmt.Sprint(entry.Key)
		if slices.Contains(names, key[strings.LastIndex(key, " ")+1:]) {
			if text := fmt.Sprint(entry.Value); text != "" {
				return text
			}
		}
	}
	return strconv.Itoa(index)
}

// RateTable is the table of a round: value and change per second.
func RateTable(list []Reading, more int) *Table {
	t := new(Table)
	t.Row("WHAT", "VALUE", "PER SECOND")
	for _, one := range list {
		switch {
		case one.numeric && one.Rate != 0:
			t.Row(one.Path, one.Value, strconv.FormatFloat(one.Rate, 'f', 1, 64))
		case one.Changed:
			t.Row(one.Path, one.Value, "changed")
		default:
			t.Row(one.Path, one.Value)
		}
	}
	if more > 0 {
		t.Row(fmt.Sprintf("and %d more values", more))
	}
	return t
}
