package dissection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// object is a JSON object whose fields are encoded in the order in which they were put.
// 64-bit numbers that are not counts become strings, because many JSON readers round them
// to 53 bits.
type object []objectField

type objectField struct {
	key   string
	value any
}

func (o *object) put(key string, value any) { *o = append(*o, objectField{key, value}) }

// some puts a field into the object, unless the value is zero or empty.
func (o *object) some(key string, value any) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return
	}
	o.put(key, value)
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", f.key)
		if err := e.Encode(f.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
