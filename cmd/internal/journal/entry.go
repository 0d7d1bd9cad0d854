package journal

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxMessage = 8 << 10 // most bytes of the text of a line, with its attributes
	maxValue   = 2 << 10 // most bytes of the value of an attribute
	maxFields  = 32      // most attributes of a line that become fields of its datagram
	maxName    = 64      // most bytes of the name of a field; journald accepts no longer names
	cutMark    = "..."   // replaces the part of a text that was cut off
)

// field is an attribute of a line as text.
type field struct {
	key   string // the names of the groups that contain the attribute and the name of the attribute, with dots between
	value string
}

// flatten appends an attribute, or the attributes of a group, to fields.
func flatten(fields []field, prefix string, a slog.Attr) []field {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			fields = flatten(fields, prefix, inner)
		}
		return fields
	}
	if a.Key == "" && v.Any() == nil {
		return fields
	}
	return append(fields, field{prefix + a.Key, textOf(v)})
}

// textOf returns the text of a value, as slog.TextHandler writes it, without quotes. A method of
// the value that panics does not end the daemon.
func textOf(v slog.Value) (text string) {
	defer func() {
		if cause := recover(); cause != nil {
			text = fmt.Sprintf("!PANIC: %v", cause)
			if p := reflect.ValueOf(v.Any()); p.Kind() == reflect.Pointer && p.IsNil() {
				text = "<nil>"
			}
		}
	}()
	if v.Kind() == slog.KindTime {
		return v.Time().Format(time.RFC3339Nano)
	}
	if v.Kind() != slog.KindAny {
		return v.String()
	}
	switch x := v.Any().(type) {
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return string(text)
		}
	case []byte:
		return string(x)
	}
	return fmt.Sprintf("%+v", v.Any())
}

// valueOf returns the value of a key, or "".
func valueOf(fields []field, key string) string {
	for _, f := range fields {
		if f.key == key {
			return f.value
		}
	}
	return ""
}

// entry returns the datagram for a line.
func entry(name string, l slog.Level, message string, fields []field) []byte {
	text := message
	for _, f := range fields {
		text += " " + quoted(f.key) + "=" + quoted(cut(f.value, maxValue))
		if len(text) > maxMessage {
			break
		}
	}
	b := appendField(nil, "MESSAGE", cut(text, maxMessage))
	b = appendField(b, "PRIORITY", priority(l))
	b = appendField(b, "SYSLOG_IDENTIFIER", name)
	if id := idOf(message, fields); id != "" {
		b = appendField(b, "MESSAGE_ID", id)
	}
	for _, f := range fields[:min(len(fields), maxFields)] {
		b = appendField(b, fieldName(f.key), cut(f.value, maxValue))
	}
	return b
}

// appendField appends a field. A value with a newline has its length before it.
func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	if !strings.Contains(value, "\n") {
		b = append(b, '=')
	} else {
		b = append(b, '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	}
	b = append(b, value...)
	return append(b, '\n')
}

// fieldName returns the name of the field of an attribute: ULNET_ and the key in capital letters,
// because journald takes A to Z, 0 to 9 and _ only.
func fieldName(key string) string {
	b := []byte("ULNET_")
	for i := 0; i < len(key) && len(b) < maxName; i++ {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z':
			b = append(b, c-'a'+'A')
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b = append(b, c)
		default:
			b = append(b, '_')
		}
	}
	return string(b)
}

// quoted returns a text in quotes if it is not one printable word.
func quoted(s string) string {
	odd := func(r rune) bool {
		return r == '"' || r == '=' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

// cut returns the beginning of a text that has more than limit bytes, with a mark.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len(cutMark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutMark
}
