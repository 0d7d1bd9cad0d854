package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// moduleOption is an option of a module in a file of modprobe.d.
type moduleOption struct {
	file   string // path of the file
	line   int    // line in which the option begins, from 1
	module string // name of the module, with underscores for hyphens as in modprobe
	name   string // name of the option, such as networks
	value  string // value of the option, without quotation marks
}

// modprobeFiles returns the files that modprobe would read: path itself, or the files *.conf of
// the folder in the order of their names.
func modprobeFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	return filepath.Glob(filepath.Join(path, "*.conf")) // Glob sorts the paths
}

// readModprobe returns the options of the given modules, in order, from the files that path
// stands for. The function read reads one.
func readModprobe(path string, read func(string) ([]byte, error), modules map[string]bool) (list []moduleOption, err error) {
	files, err := modprobeFiles(path)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := readBounded(file, read)
		if err != nil {
			return nil, err
		}
		for _, o := range parseModprobe(file, string(text)) {
			if modules[o.module] {
				list = append(list, o)
			}
		}
	}
	return list, nil
}

// readBounded reads a file that is not larger than a configuration file of lnetd may be.
func readBounded(file string, read func(string) ([]byte, error)) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return nil, &Error{File: file, Err: errors.Join(fs.ErrInvalid, errors.New("want a file of at most 64 KiB"))}
	}
	return read(file)
}

// parseModprobe returns the options of a file; it ignores other directives. A backslash at the
// end of a line joins it with the next one, as in modprobe.d(5).
func parseModprobe(file, text string) (list []moduleOption) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first, line := i+1, strings.TrimSuffix(lines[i], "\r")
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + strings.TrimSuffix(lines[i], "\r")
		}
		words := modprobeWords(line)
		if len(words) < 3 || words[0] != "options" {
			continue
		}
		module := strings.ReplaceAll(words[1], "-", "_")
		for _, word := range words[2:] {
			name, value, _ := strings.Cut(word, "=")
			list = append(list, moduleOption{file, first, module, name, value})
		}
	}
	return list
}

// modprobeWords splits a line at blanks outside quotation marks, and removes the marks. A line
// that begins with # is a comment.
func modprobeWords(line string) (words []string) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return nil
	}
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote == 0 && (r == ' ' || r == '\t'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case r == quote:
			quote = 0
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	return words
}
