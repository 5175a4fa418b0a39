<?php

declare(strict_types=1);

/**
 * Makes calls through PHP's SoapClient, line by line. Input: {"address", "version"} first, then {"reload": true} or
 * {"group", "operation", "arguments"}. Output: a line of JSON for each, with "value" and "xml", or with "error".
 */

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');
ini_set('default_socket_timeout', '30');

['address' => $address, 'version' => $version] = json_decode(fgets(STDIN), true, flags: JSON_THROW_ON_ERROR);
$clients = [];
while (($line = fgets(STDIN)) !== false) {
    $asked = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    if (isset($asked['reload'])) {
        $clients = [];
        echo "{}\n";
        continue;
    }
    ['group' => $group, 'operation' => $operation, 'arguments' => $arguments] = $asked;
    try {
        $client = $clients[$group] ??= @new SoapClient("$address/api/$group.asmx?WSDL", [
            'soap_version' => $version === 'soap12' ? SOAP_1_2 : SOAP_1_1,
            'cache_wsdl' => WSDL_CACHE_NONE,
            'features' => SOAP_SINGLE_ELEMENT_ARRAYS,
            'trace' => true,
        ]);
        $response = $client->__soapCall($operation, [$arguments]);
        $told = ['value' => $response->{"{$operation}Result"} ?? null, 'xml' => $client->__getLastResponse()];
    } catch (SoapFault $fault) {
        $told = ['error' => "{$fault->faultcode}: {$fault->faultstring}"];
    }
    echo json_encode($told, JSON_THROW_ON_ERROR), "\n";
}
