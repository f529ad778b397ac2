package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/errand-acp/errand/internal/proc"
)

func Example() {
	p, err := proc.Start(context.Background(), proc.Spec{
		Path: "cat",
		Dir:  "/",
		Env:  []string{"PATH=" + os.Getenv("PATH")}, // and nothing else of ours
	})
	if err != nil {
		fmt.Println(err) // nothing was left behind
		return
	}
	io.WriteString(p.Stdin(), "hello\n")
	line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
	fmt.Print(line)

	report := p.Shutdown(proc.Graces{EOF: 6 * time.Second, Term: 3 * time.Second, Kill: 2 * time.Second})
	fmt.Println(report.Rung, report.Exit.Code)
	p.Stdout().Close() // not read to its end
	// Output:
	// hello
	// eof 0
}
