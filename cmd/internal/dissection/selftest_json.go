package dissection

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"ulnet/lnet/selftest/wire"
)

// Details implements capture.Understood.
func (q *selftestRequest) Details() []string {
	lines := []string{fmt.Sprintf("%v request, rpc %#x, features %#x, %s", q.Type, q.ReplyID, uint32(q.Features), orderName(q.BigEndian))}
	return append(append(lines, bodyLines(q.Body)...), remarkLines(q.remarks)...)
}

// Details implements capture.Understood.
func (p *selftestReply) Details() []string {
	lines := []string{fmt.Sprintf("%v, status %d (%v), features %#x, %s", p.Type, uint32(p.Status), p.Status, uint32(p.Features), orderName(p.BigEndian))}
	if p.to != nil {
		lines = append(lines, fmt.Sprintf("to rpc %#x, a %v request to %v, after %v", p.id, p.to.Type, p.to.dest, p.after))
	} else {
		lines = append(lines, fmt.Sprintf("to rpc %#x, whose request is not in this capture", p.id))
	}
	return append(append(lines, bodyLines(p.Body)...), remarkLines(p.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (q *selftestRequest) MarshalJSON() ([]byte, error) {
	o := object{{"kind", "request"}, {"service", q.Type.String()}, {"rpc", hex(q.ReplyID)}, {"features", uint32(q.Features)}}
	o.body(q.Body)
	o.some("odd", q.remarks)
	return o.MarshalJSON()
}

// MarshalJSON implements json.Marshaler.
func (p *selftestReply) MarshalJSON() ([]byte, error) {
	service := strings.TrimSuffix(p.Type.String(), " reply")
	o := object{{"kind", "reply"}, {"service", service}, {"rpc", hex(p.id)}, {"features", uint32(p.Features)}}
	o.put("status", uint32(p.Status))
	o.put("status_text", p.Status.String())
	if p.to != nil {
		o.put("after_us", p.after.Microseconds()) // time since the request, in microseconds
	}
	o.body(p.Body)
	o.some("odd", p.remarks)
	return o.MarshalJSON()
}

// body puts all fields of a body, by their names in lower case. Numbers of 64 bits other than
// counts are texts in hexadecimal.
func (o *object) body(body wire.Body) {
	if body == nil {
		return
	}
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		o.put(jsonName(v.Type().Field(i).Name), jsonValue(v.Field(i)))
	}
}

func jsonValue(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case fmt.Stringer:
		return value.String()
	case uint64:
		return hex(value)
	}
	if v.Kind() != reflect.Struct {
		return v.Interface()
	}
	var o object
	for i := range v.NumField() {
		if n, ok := v.Field(i).Interface().(uint64); ok { // a counter of bytes, which is a number in JSON, unlike other fields of 64 bits
			o.put(jsonName(v.Type().Field(i).Name), n)
		} else {
			o.put(jsonName(v.Type().Field(i).Name), jsonValue(v.Field(i)))
		}
	}
	return o
}

// jsonName turns the name of a field into a key: SentBytes into sent_bytes, BulkID into bulk_id,
// LNet into lnet.
func jsonName(field string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(field, "LNet", "Lnet"))
	for i, r := range runes {
		starts := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// bodyLines returns a line for each field of a body, and one for all fields of a nested struct.
func bodyLines(body wire.Body) (lines []string) {
	var o object
	o.body(body)
	for _, f := range o {
		if nested, ok := f.value.(object); ok {
			parts := make([]string, len(nested))
			for i, n := range nested {
				parts[i] = fmt.Sprintf("%s %v", words(n.key), n.value)
			}
			lines = append(lines, fmt.Sprintf("%s: %s", words(f.key), strings.Join(parts, ", ")))
		} else if text, ok := f.value.(string); ok && (f.key == "name" || f.key == "group") {
			lines = append(lines, fmt.Sprintf("%s %q", f.key, text)) // quoted, because the sender may have put any bytes into these
		} else {
			lines = append(lines, fmt.Sprintf("%s %v", words(f.key), f.value))
		}
	}
	return lines
}

// words turns a key into words.
func words(key string) string { return strings.ReplaceAll(key, "_", " ") }
