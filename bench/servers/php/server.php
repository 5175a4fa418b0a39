<?php

declare(strict_types=1);

/*
 * The four operations on PHP's SoapServer, from our own WSDL, behind Apache with mod_php: keep-alive connections, a process
 * for each, the program compiled once (opcache), the WSDL parsed once a process. PHP shares nothing between requests, so the
 * data is in SQLite, over a connection that the process keeps. A change is on disk before it is answered.
 * start.ts makes the data, the WSDL and Apache's settings, in the folder of this file's copy.
 */
final class Api
{
    private readonly PDO $database;

    public function __construct()
    {
        $this->database = new PDO('sqlite:' . __DIR__ . '/bench.db', options: [PDO::ATTR_PERSISTENT => true]);
    }

    public function Profile(object $call): array
    {
        return ['ProfileResult' => $this->account($call, '*')];
    }

    public function Unread(object $call): array
    {
        $account = $this->account($call, 'id');
        if ($call->max_count < 0) {
            throw new SoapFault('Client', 'max_count: must not be negative');
        }
        $unread = $this->run(
            'select id, sender, message, short_code, timestamp from message
             where account = ? and read = 0 order by timestamp, id limit ?',
            $account['id'],
            $call->max_count,
        );
        return ['UnreadResult' => ['ReceivedMessage' => $unread->fetchAll(PDO::FETCH_ASSOC)]];
    }

    public function CountUnread(object $call): array
    {
        return ['CountUnreadResult' => $this->account($call, 'unread')['unread']];
    }

    public function MarkMessageAsRead(object $call): array
    {
        ['id' => $account] = $this->account($call, 'id');
        $marked = $this->run('update message set read = 1 where account = ? and id = ?', $account, $call->message_id);
        return ['MarkMessageAsReadResult' => $marked->rowCount() === 1];
    }

    /** @return array<string, mixed> */
    private function account(object $call, string $columns): array
    {
        $found = $this->run("select $columns from account where userID = ?", $call->user_id)->fetch(PDO::FETCH_ASSOC);
        return $found ?: throw new SoapFault('Client', 'The user_id is not valid.');
    }

    private function run(string $sql, string|int ...$values): PDOStatement
    {
        $statement = $this->database->prepare($sql);
        foreach ($values as $at => $value) {
            $statement->bindValue($at + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $statement->execute();
        return $statement;
    }
}

$group = basename($_SERVER['REQUEST_URI'], '.asmx') === 'account' ? 'account' : 'inbox';
$server = new SoapServer(__DIR__ . "/$group.wsdl", ['cache_wsdl' => WSDL_CACHE_MEMORY]);
$server->setClass(Api::class);
$server->handle();
