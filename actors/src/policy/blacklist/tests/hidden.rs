//! Destructive commands in texts that something else runs, and texts that only look like it.

use super::*;

fn strongest(line: &str) -> Option<Need> {
    let arguments = serde_json::json!({ "command": line }).as_object().unwrap().clone();
    let call = Examined::new("run", &arguments);
    Blacklist::default().strongest(&call, EffectClass::Changing).map(|hit| hit.need)
}

/// Lines by which a shell gets its script in a roundabout way.
const SCRIPTS: &[&str] = &[
    "cat <<EOF | sh\nrm -rf /\nEOF",
    "cat <<EOF |\nrm -rf /\nEOF\nsh",
    "cat <<'EOF' | tee x | sudo bash -s\nrm -rf /\nEOF",
    "(cat <<EOF) | sh\nrm -rf /\nEOF",
    "cat <<< 'rm -rf /' | sh",
    "tee x <<< 'rm -rf /' | sh",
    "echo 'rm -rf /' | cat | sh",
    "echo 'rm -rf /' | tee x | sed s/a/b/ | sh",
    "printf '%s -rf %s' rm / | sh",
    "printf '\\x72m -rf \\057' | sh",
    "echo -e 'ls\\nrm -rf /' | sh",
    "{ echo 'rm -rf /'; } | sh",
    "if true; then echo 'rm -rf /'; fi | sh",
    "for i in 1; do echo 'rm -rf /'; done | sh",
    "case x in x) echo 'rm -rf /';; esac | sh",
    "source /dev/stdin <<< 'rm -rf /'",
    ". /dev/stdin <<EOF\nrm -rf /\nEOF",
    "echo 'rm -rf /' | . /dev/fd/0",
    "source <(echo 'rm -rf /')",
    ". <(cat <<E\nrm -rf /\nE\n)",
    "bash <(echo 'rm -rf /')",
    "sh < <(echo 'rm -rf /')",
    "sh /dev/fd/3 3<<< 'rm -rf /'",
    "sh -c \"$(echo 'rm -rf /')\"",
    "eval \"$(printf 'rm -rf /')\"",
    "eval \"$(cat <<E\nrm -rf /\nE\n)\"",
    "$(echo rm -rf) /",
    "`echo rm` -rf /",
    "alias ls='rm -rf /'; ls",
    "alias -g x=y ls=\"rm -rf /\"",
    "trap 'rm -rf /' EXIT",
    "env -S 'rm -rf /'",
    "watch 'rm -rf /'",
    "timeout 5 sh -c 'rm -rf /'",
    "ssh host 'rm -rf /'",
    "ssh host <<E\nrm -rf /\nE",
    "echo 'rm -rf /' | ssh -p 22 host",
    "echo 'rm -rf /' | at now",
    "sudo -s <<< 'rm -rf /'",
    "su - root <<< 'rm -rf /'",
    "echo 'rm -rf /' | xargs -I{} sh -c '{}'",
    "echo 'rm -rf /' | xargs -0 sh -c",
    "echo rm -rf / | xargs sudo",
    "echo -rf / | xargs rm",
    "echo 'rm -rf /' | parallel",
    "xargs -I % sh -c % <<E\nrm -rf /\nE",
    "tar cf x --checkpoint-action=exec='rm -rf /' x",
    "git -c alias.x='!rm -rf /' x",
    "git config alias.x '!rm -rf /'",
    "ssh -o ProxyCommand='rm -rf /' h",
    "tmux new-session -d 'rm -rf /'",
    "tmux new -d -s x rm -rf /",
    "screen -dmS x rm -rf /",
    "systemd-run rm -rf /",
    "faketime now rm -rf /",
    "X='rm -rf /'; $X",
    "X='rm -rf /'; eval $X",
    "X='rm -rf /' sh -c \"$X\"",
    "export X='rm -rf /'; sh -c \"$X\"",
];

/// Lines in which code of another language runs a command.
const CODES: &[&str] = &[
    "awk 'BEGIN{system(\"rm -rf /\")}'",
    "awk -F, 'BEGIN{ \"rm -rf /\" | getline }'",
    "awk 'BEGIN{print \"rm -rf /\" | \"sh\"}'",
    "sed '1e rm -rf /' x",
    "sed -n -e 's/.*/rm -rf ~/e' x",
    "vim -c ':!rm -rf /'",
    "vim -es +'silent !rm -rf /' +q",
    "ex -c '!rm -rf /' x",
    "ed x <<E\n!rm -rf /\nE",
    "vim -c 'call system(\"rm -rf /\")'",
    "emacs --batch --eval '(shell-command \"rm -rf /\")'",
    "python3 -c \"import os; os.system('rm -rf /')\"",
    "python3.11 -c 'import os; os.system(\"rm -r\" + \"f /\")'",
    "python -Bc 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"/\"])'",
    "python3 -c 'import os; os.popen(\"\"\"rm -rf /\"\"\")'",
    "python3 -c 'import shutil; shutil.rmtree(\"/\")'",
    "python3 -c 'import os; os.system(\"\\x72m -rf /\")'",
    "python3 - <<E\nimport os\nos.system('rm -rf /')\nE",
    "cat <<E | python3\nimport os\nos.system('rm -rf /')\nE",
    "echo 'import os; os.system(\"rm -rf /\")' | python3 -",
    "perl -e 'system(\"rm -rf /\")'",
    "perl -lne 'system \"rm\", \"-rf\", \"/\"' x",
    "perl -e 'print `rm -rf /`'",
    "perl -e 'qx{rm -rf /}'",
    "perl -e 'exec qw(rm -rf /)'",
    "perl -e 'open(F, \"rm -rf / |\")'",
    "ruby -e 'system(\"rm -rf /\")'",
    "ruby -e '%x(rm -rf /)'",
    "ruby -e 'require \"fileutils\"; FileUtils.rm_rf(\"/\")'",
    "node -e 'require(\"child_process\").execSync(\"rm -rf /\")'",
    "node --eval='require(\"child_process\").spawn(\"rm\", [\"-rf\", \"/\"])'",
    "node -e 'require(\"fs\").rmSync(\"/\", {recursive: true})'",
    "php -r 'shell_exec(\"rm -rf /\");'",
    "lua -e 'os.execute(\"rm -rf /\")'",
    "sudo nohup perl -e 'system(\"mkfs.ext4 /x\")'",
    "psql -c '\\! rm -rf /'",
    "sqlite3 x '.shell rm -rf /'",
    "gdb -ex 'shell rm -rf /'",
    "osascript -e 'do shell script \"rm -rf /\"'",
    "expect -c 'spawn rm -rf /'",
];

/// Lines that remove what nobody knows yet.
const COMPUTED: &[&str] = &[
    "IFS=/;rm -rf $IFS",
    "X=/; rm -rf \"$X\"",
    "rm -rf $DIR/*",
    "rm -rf \"$(pwd)\"",
    "rm -rf `pwd`",
    "xargs rm -rf < list",
    "ls | xargs -I% rm -rf %",
    "ls | xargs -I {} rm -rf {}",
    "ls | parallel rm -rf",
    "alias a='rm -rf'; a /",
    "f() { rm -rf \"$1\"; }; f /",
    "HOME=/; rm -rf ~/etc",
    "rm -rf /e*",
    "rm -rf /{etc,usr}",
    "chmod -R 700 $X",
    "ls | xargs chmod -R 700",
    "chown -R me \"$X\"",
    "dd if=x of=$DISK",
    "find \"$X\" -delete",
];

/// Code that runs programs, of which none is known to harm.
const ASKS: &[&str] = &[
    "awk '{print $1 | \"sort\"}' x",
    "python3 -c 'import os; os.system(\"ls\")'",
    "python3 -c 'import os; os.system(x)'",
    "perl -e 'system(\"ls\")'",
    "node -e 'require(\"child_process\").execSync(\"ls\")'",
    "vim -c ':!ls'",
    "python3 - <<E\nimport subprocess\nE",
];

const HARMLESS: &[&str] = &[
    "awk '{print $1}' x",
    "awk -F'|' '{print $1}' x",
    "awk '$1 == 1 || $2 == 2 {print \"rm -rf /\"}' x",
    "sed -e 's/a/b/' -i x",
    "sed -n '/error/p' x",
    "python3 -c 'print(1)'",
    "python3 -c \"print('rm -rf /')\"",
    "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"x\"])'",
    "python3 -m pytest -c x",
    "python3 x.py 'system(\"rm -rf /\")'",
    "python3 - <<E\nprint('rm -rf /')\nE",
    "echo '{\"a\":1}' | python3 -c 'import json'",
    "node -e 'console.log(1)'",
    "perl -pe 's/a/b/' x",
    "ruby -e 'puts 1'",
    "vim -c 'wq!' x",
    "psql -c 'select 1 != 2'",
    "cat <<EOF > file\nrm -rf /\nEOF",
    "cat <<EOF | grep x\nrm -rf /\nEOF",
    "cat <<< 'rm -rf /'",
    "tee x <<EOF\nrm -rf /\nEOF",
    "echo 'rm -rf /' > x; sh y",
    "echo 'rm -rf /'; ls | sh",
    "{ echo 'rm -rf /'; }; ls | sh",
    "alias ll='ls -l'",
    "alias",
    "source x",
    ". venv/bin/activate",
    "source <(kubectl completion bash)",
    "xargs grep foo",
    "ls | xargs -I{} rm {}",
    "echo 'rm -rf /' | xargs echo",
    "ssh host <<E\nls\nE",
    "trap - EXIT",
    "tmux new-session -d 'ls -l'",
    "tar -czf x.tgz -I zstd x",
    "git config alias.x '!ls'",
    "X='rm -rf /'; echo \"$X\"",
    "X=1; $Y",
    "rm -rf build/* ~/x/y",
    "rm -rf target/{a,b} x?",
    "rm -rf $HOME/x/build",
    "rm -f $X",
    "chmod -R u+w a*",
    "find . -name $X -delete",
    "dd if=$X of=a",
];

#[test]
fn what_is_run_by_something_else_is_seen() {
    let check = |lines: &[&str], need| -> Vec<String> {
        let wrong = lines.iter().filter(|line| strongest(line) != need);
        wrong.map(|line| format!("{line} {:?}", strongest(line))).collect()
    };
    let always = Some(Need::Always);
    let all = [(SCRIPTS, always), (CODES, always), (COMPUTED, always)];
    let more = [(ASKS, Some(Need::Required)), (HARMLESS, None)];
    let wrong: Vec<_> =
        all.iter().chain(&more).flat_map(|(lines, need)| check(lines, *need)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
