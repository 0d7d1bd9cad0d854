package bugreport

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ulnet/cmd/internal/config"
)

// removed replaces each secret that was taken out.
const removed = "[redacted]"

// shortest is the length in bytes of the shortest secret that is looked for in texts. A shorter one
// could occur inside of other words by chance.
const shortest = 6

// A cleaner takes secrets out of texts: values whose names say that they are secrets, and, wherever they
// occur, texts that it has learned to be secrets.
type cleaner struct {
	secrets [][]byte
	sorted  bool // secrets are sorted, the longest first
}

// onUse compiles an expression when it is first used, because most runs of the commands that import this
// package make no report.
func onUse(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// secretName matches names of settings, variables and fields whose values are secrets. perhapsName
// matches names whose values are secrets, too, except fields for which isSingle returns false. The
// values of fileNames are paths of files, which stay in the report.
var (
	secretName  = onUse(`(?i)secret|token|passw|passphrase|credential|private|authorization|api_?key|access_?key`)
	perhapsName = onUse(`(?i)(^|[._-])keys?$`)
	fileNames   = onUse(`(?i)(_file|claim_keys|^metrics_capture_token)$`)
)

// namesSecrets reports whether the value of a setting is the path of a file with secrets.
func namesSecrets(key string) bool {
	return strings.HasSuffix(key, "key_file") || strings.HasSuffix(key, "claim_keys") || key == "metrics_capture_token"
}

// isSecret reports whether a name is that of a secret.
func isSecret(name string) bool {
	return !fileNames().MatchString(name) && (secretName().MatchString(name) || perhapsName().MatchString(name))
}

// environment learns the secrets of an environment.
func (c *cleaner) environment(environ []string) {
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); isSecret(name) {
			c.learn(value)
		}
	}
}

// file learns the keys in the text of a key file. Each line is a key.
func (c *cleaner) file(text []byte) {
	for line := range bytes.Lines(text) {
		c.learn(string(line))
	}
}

// setting learns the secrets in the value of a key of the configuration: the arguments of a program
// except names of options, and the whole value if the key's name is that of a secret.
func (c *cleaner) setting(key, value string) {
	for _, a := range config.Arguments(key, value) {
		if name, rest, ok := strings.Cut(a, "="); strings.HasPrefix(name, "-") && ok {
			a = rest
		}
		if !strings.HasPrefix(a, "-") {
			c.learn(a)
		}
	}
	if isSecret(key) {
		c.learn(value)
	}
}

// learn adds a secret to the known ones, as it is and as JSON writes it.
func (c *cleaner) learn(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < shortest {
		return
	}
	c.secrets = append(c.secrets, []byte(secret))
	if quoted, err := json.Marshal(secret); err == nil {
		c.secrets = append(c.secrets, bytes.Trim(quoted, `"`))
	}
	c.sorted = false
}

// known takes the learned secrets out of a text.
func (c *cleaner) known(text []byte) []byte {
	if !c.sorted {
		slices.SortStableFunc(c.secrets, func(a, b []byte) int { return len(b) - len(a) }) // the longest first, because a secret may contain another one
		c.secrets, c.sorted = slices.CompactFunc(c.secrets, bytes.Equal), true
	}
	for _, s := range c.secrets {
		text = bytes.ReplaceAll(text, s, []byte(removed))
	}
	return text
}

// patterns match secrets in lines. The text in their first group is not secret, and stays.
var patterns = []func() *regexp.Regexp{
	onUse(`(?i)(authorization["']?\s*[:=]\s*["']?)[^\r\n"']+`),
	onUse(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{6,}`),
	onUse(`(?i)((?:secret|token|passw|passphrase|credential|api_?key|access_?key|private_?key)[a-z0-9_.-]*["']?\s*[:=]\s*["']?)[^\s"',;&}\])]+`),
	onUse(`(?i)((?:^|\s)--?[a-z0-9_.-]*(?:secret|token|passw|passphrase|credential|key)\s+["']?)[^\s"']+`), // options of commands
	onUse(`(\boutput["']?[=:]\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s"]+)`),                                          // the attribute output of log lines, in both formats of the log
	onUse(`(://)[^/\s:@]*:[^/\s@]+@`),
}

// Each line in which a pattern matches has one of the hints. Most lines have none, and are not searched.
var hints = [][]byte{
	[]byte("authorization"), []byte("bearer"), []byte("basic"), []byte("secret"), []byte("token"), []byte("passw"), []byte("passphrase"),
	[]byte("credential"), []byte("key"), []byte("://"), []byte("output"),
}

// privateKey matches a key in the form of PEM, also one whose end is missing.
var privateKey = onUse(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)

// text takes the secrets out of a text.
func (c *cleaner) text(text []byte) []byte {
	if bytes.Contains(text, []byte("PRIVATE KEY-----")) {
		text = privateKey().ReplaceAll(text, []byte("${1}"+removed))
	}
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		out = append(out, cleanLine(line)...)
	}
	return c.known(out)
}

func cleanLine(line []byte) []byte {
	lower := bytes.ToLower(line)
	if !slices.ContainsFunc(hints, func(h []byte) bool { return bytes.Contains(lower, h) }) {
		return line
	}
	for _, p := range patterns {
		line = p().ReplaceAll(line, []byte("${1}"+removed))
	}
	return line
}

// json takes the secrets out of a JSON value, and returns the value with a field on each line. If raw is
// not valid JSON, json treats it as a text.
func (c *cleaner) json(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return c.text(raw)
	}
	out, err := json.MarshalIndent(c.value(v), "", "  ")
	if err != nil {
		return c.text(raw)
	}
	return append(c.known(out), '\n')
}

// value takes the secrets out of a value that was decoded.
func (c *cleaner) value(v any) any {
	switch v := v.(type) {
	case string:
		return string(c.text([]byte(v)))
	case []any:
		for i := range v {
			v[i] = c.value(v[i])
		}
	case map[string]any:
		c.object(v)
	}
	return v
}

// object takes the secrets out of the fields of an object. An object with the fields key and value is a
// setting or an attribute: its key tells whether its value is a secret. The fields run and output are
// arguments and output of programs, which may have secrets.
func (c *cleaner) object(fields map[string]any) {
	key, _ := fields["key"].(string)
	_, pair := fields["value"]
	for name, v := range fields {
		switch {
		case pair && name == "key":
		case pair && (name == "value" || name == "next") && v != nil && (isSecret(key) || config.RunsProgram(key)):
			fields[name] = removed
		case name == "run" || name == "output":
			fields[name] = programOf(v)
		case secretName().MatchString(name) && v != nil || perhapsName().MatchString(name) && isSingle(name, v):
			fields[name] = removed
		default:
			fields[name] = c.value(v)
		}
	}
}

// programOf returns a list of a program and its arguments with the arguments taken out.
func programOf(v any) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return removed
	}
	for i := range list[1:] {
		list[i+1] = removed
	}
	return list
}

// isSingle reports whether the value of a field can be a key: a text, or a number under a name such as key. A number
// under a name such as keys or claim_keys is the number of keys.
func isSingle(name string, v any) bool {
	switch v.(type) {
	case string:
		return true
	case json.Number:
		return !strings.HasSuffix(strings.ToLower(name), "keys")
	}
	return false
}
