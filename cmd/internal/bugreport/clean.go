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

// removed stands for what was taken out.
const removed = "[redacted]"

// shortest is the length in bytes of the shortest secret that is looked for in texts. Shorter ones
// are in words by chance.
const shortest = 6

// A cleaner takes secrets out of texts: what names say to be one, and what is known to be one,
// wherever it stands.
type cleaner struct {
	secrets [][]byte
	sorted  bool // the longest is the first
}

// onUse compiles an expression when it is first used: most commands that have this package make no
// report.
func onUse(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Names of settings, variables and fields that have secrets, and those that have some if their value
// is a single one. The values of fileNames are paths of files, which are kept.
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

// file learns the content of a file of keys, of which each line is one.
func (c *cleaner) file(text []byte) {
	for line := range bytes.Lines(text) {
		c.learn(string(line))
	}
}

// setting learns the secrets in the value of a key of the configuration: arguments of programs but
// the names of options, and values whose names are those of secrets.
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

// learn learns a secret, and what becomes of it in JSON.
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

// known takes out what is known to be a secret.
func (c *cleaner) known(text []byte) []byte {
	if !c.sorted {
		slices.SortStableFunc(c.secrets, func(a, b []byte) int { return len(b) - len(a) }) // a secret may contain another one
		c.secrets, c.sorted = slices.CompactFunc(c.secrets, bytes.Equal), true
	}
	for _, s := range c.secrets {
		text = bytes.ReplaceAll(text, s, []byte(removed))
	}
	return text
}

// patterns match secrets in lines. What the first group has is kept.
var patterns = []func() *regexp.Regexp{
	onUse(`(?i)(authorization["']?\s*[:=]\s*["']?)[^\r\n"']+`),
	onUse(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{6,}`),
	onUse(`(?i)((?:secret|token|passw|passphrase|credential|api_?key|access_?key|private_?key)[a-z0-9_.-]*["']?\s*[:=]\s*["']?)[^\s"',;&}\])]+`),
	onUse(`(?i)((?:^|\s)--?[a-z0-9_.-]*(?:secret|token|passw|passphrase|credential|key)\s+["']?)[^\s"']+`), // options of commands
	onUse(`(\boutput["']?[=:]\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s"]+)`),                                          // what programs print, in both formats of the log
	onUse(`(://)[^/\s:@]*:[^/\s@]+@`),
}

// hints are in every line in which a pattern matches. Most lines have none, and are not searched.
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

// json takes the secrets out of a JSON value, and returns it with a field on each line. What is no
// JSON it treats as a text.
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

// object takes the secrets out of the fields of an object. An object with key and value is a
// setting, or an attribute. Programs may have secrets among their arguments, and in what they say.
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

// programOf keeps the program of a list with its arguments.
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

// isSingle reports whether the value of a field is a key, and neither an object nor a number of keys.
func isSingle(name string, v any) bool {
	switch v.(type) {
	case string:
		return true
	case json.Number:
		return name != "keys"
	}
	return false
}
