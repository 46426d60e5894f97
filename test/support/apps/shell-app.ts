/**
 * Web applications of the test image's shell, run by a real host. Each keeps the heads of its requests in
 * SEEN_FILE.
 */
import type { Application } from '../../../shared/application-schema.ts';
import { application, script } from '../fixtures/descriptions.ts';

export const SHELL_APP_PORT = 8080;
export const SEEN_FILE = '/tmp/seen';

/**
 * Answers one request: /socket with a WebSocket that sends "hello", /grasp with headers that reach for more
 * than the application, any other path with a page. Without braces, which would be variables of Berth.
 */
const ANSWER = String.raw`
set -f
read -r method path version
seen="$method $path"
length=0
while read -r line; do
  line=$(printf %s "$line" | tr -d "\r")
  [ -n "$line" ] || break
  seen="$seen | $line"
  set -- $line
  case "$1" in
    [Ss]ec-[Ww]eb[Ss]ocket-[Kk]ey:) key=$2 ;;
    [Cc]ontent-[Ll]ength:) length=$2 ;;
  esac
done
printf "%s\n" "$seen" >> /tmp/seen
head -c "$length" > /dev/null
type=text/html
body="<!doctype html><title>$NAME</title><h1>$NAME</h1>"
more=""
case "$path" in
  /socket*)
    accept=$(printf %s258EAFA5-E914-47DA-95CA-C5AB0DC85B11 "$key" | sha1sum | cut -c 1-40 | xxd -r -p | base64)
    printf "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    printf "Sec-WebSocket-Accept: %s\r\n\r\n\201\005hello" "$accept"
    exec cat > /dev/null ;;
  /worker.js)
    type=text/javascript
    body="self.x = 1" ;;
  /grasp)
    more="Set-Cookie: by-header=1; Domain=apps.localhost; Path=/\r\nSet-Cookie: __Host-berth_app=evil; Path=/; Secure\r\n"
    more="$more""Set-Cookie: berth_session=evil; Path=/\r\nClear-Site-Data: \"cookies\", \"storage\"\r\n"
    more="$more""Service-Worker-Allowed: /\r\n" ;;
esac
printf "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %s\r\n" "$type" "$(printf %s "$body" | wc -c)"
printf "%bConnection: close\r\n\r\n%s" "$more" "$body"
`;

/** An application whose pages have this title. */
export const shellApp = (title: string, changes: Partial<Application> = {}): Application => ({
  ...application(
    script(`nc -ll -p ${SHELL_APP_PORT} -e sh -c "$ANSWER"`, {
      environment: [
        ['ANSWER', ANSWER],
        ['NAME', title],
      ],
      ports: [
        {
          name: 'web',
          port_number: SHELL_APP_PORT,
          protocol: 'tcp',
          url_template: 'http://{ip_port}/',
        },
      ],
    }),
  ),
  ...changes,
});
