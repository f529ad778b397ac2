package permission

import (
	"slices"
	"strings"
	"unicode"
)

// The names that agents have for the parameters of their tools, as the letters and
// digits of them in lower case.
var (
	lineKeys    = []string{"commandline", "cmdline", "shellline", "shellcommand", "bashcommand", "bashline"}
	linesKeys   = []string{"commands", "cmds"}
	programKeys = []string{"program", "executable", "exe"}
	inputKeys   = []string{"input", "rawinput", "arguments", "args", "params", "parameters"}
	argsKeys    = []string{"args", "arguments", "argv", "argumentlist", "commandargs"}
	codeKeys    = []string{"script", "code"}
	cwdKeys     = []string{"cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory", "directory", "basedir"}
	envKeys     = []string{"env", "environ", "environment", "envvars"}
	shellKeys   = []string{"shell", "useshell"}
	toolKeys    = []string{"toolname", "tool"}
	changesKeys = []string{"changes", "filechanges", "files", "edits"}
	writtenKeys = []string{
		"content", "contents", "filetext", "filecontent", "newstring", "newstr", "newtext", "newcontent",
		"oldstring", "oldstr", "oldtext", "replacement", "patch", "diff",
	}
)

func keyNamed(key string, names []string) bool {
	letters := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	return slices.Contains(names, letters)
}

// The last word of a key says what is under it: filePath and notebook_path are paths,
// fileText is none.
var (
	pathWords = words(`path paths pathname pathnames filepath filepaths filename filenames file files dir dirs
		directory directories folder folders cwd workdir workingdir workingdirectory currentdirectory basedir uri uris root roots destination dest
		dst src target targets notebook location locations symlink outfile infile from to
		glob globs include includes resource resources`)
	commandWords = words("command cmd bash exec")
	hostWords    = words("url urls href endpoint host hosts hostname domain domains")
	contentWords = words(`content contents text texts string str body message messages prompt description title
		pattern patterns regex query queries thought thoughts explanation reason patch diff todo todos summary
		question answer replacement comment`)
)

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

func isCommandKey(key string) bool {
	return commandWords[lastWord(key)] || keyNamed(key, lineKeys)
}

func isPathKey(key string) bool    { return pathWords[lastWord(key)] }
func isContentKey(key string) bool { return contentWords[lastWord(key)] }

// lastWord returns the last word of a key in snake_case, kebab-case or camelCase, in
// lower case, without digits after it.
func lastWord(key string) string {
	runes := []rune(strings.TrimRightFunc(key, func(r rune) bool { return !unicode.IsLetter(r) }))
	i := len(runes)
	for i > 0 && unicode.IsLetter(runes[i-1]) {
		i--
		capital := unicode.IsUpper(runes[i])
		if capital && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break // filePath: here begins the word
		}
		if capital && i > 0 && unicode.IsLower(runes[i-1]) {
			break // fileURI
		}
	}
	return strings.ToLower(string(runes[i:]))
}
